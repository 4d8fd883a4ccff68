/**
 * What the reference shows, taken from the OpenAPI description of the service: its operations with their parameters,
 * contents and responses. Whatever the description lacks is left out.
 */

/** The members that are read here, as `parseExact` reads them: numbers are texts. */
export interface Description {
  readonly info: { readonly description?: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

interface DescribedOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly (Reference | Parameter)[];
  readonly requestBody?: Reference | Content;
  readonly responses?: Readonly<Record<string, Reference | DescribedResponse>>;
}

interface Reference {
  readonly $ref: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: Reference | Schema;
  readonly description?: string;
}

/** Of a request or a response. */
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Reference | Schema }>>;
}

interface DescribedResponse extends Content {
  readonly description?: string;
  readonly headers?: object;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly allOf?: readonly (Reference | Schema)[];
  readonly enum?: readonly string[];
  readonly minimum?: string;
  readonly maximum?: string;
  readonly maxLength?: string;
  readonly default?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Reference | Schema>>;
}

/** A parameter, a member of the content, or a response. */
export interface Member {
  readonly name: string;
  readonly note: string;
  readonly text: string | undefined;
}

export interface Operation extends DescribedOperation {
  readonly method: string;
  readonly path: string;
  readonly tables: Readonly<Record<string, readonly Member[]>>;
}

/** Operations in the order of the description. */
export function readOperations(root: Description): readonly Operation[] {
  return Object.entries(root.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method === "get" || method === "post")
      .map(([method, operation]) => ({
        ...operation,
        method: method.toUpperCase(),
        path,
        tables: {
          Parameters: (operation.parameters ?? []).map((parameter) => readParameter(root, parameter)),
          Content: readContent(root, operation.requestBody),
          Responses: Object.entries(operation.responses ?? {}).map(([status, response]) => {
            const { headers = {}, description: text } = resolve(root, response);
            return { name: status, note: Object.keys(headers).join(", "), text };
          }),
        },
      })),
  );
}

function readParameter(root: Description, reference: Reference | Parameter): Member {
  const { name, in: place, required = false, schema, description: text } = resolve(root, reference);
  return { name, note: note(place, required, resolve(root, schema ?? {})), text };
}

function readContent(root: Description, reference: Reference | Content = {}): readonly Member[] {
  const [media] = Object.values(resolve(root, reference).content ?? {});
  const { properties = {}, required = [] } = resolve(root, media?.schema ?? {});
  return Object.entries(properties).map(([name, member]) => {
    const schema = resolve(root, member);
    return { name, note: note("", required.includes(name), schema), text: schema.description };
  });
}

/** In a few words: "query, integer, 1 to 100, default 20". */
function note(place: string, isRequired: boolean, schema: Schema): string {
  const { type, enum: values, minimum, maximum, maxLength, default: fallback } = schema;
  const parts = [
    place,
    isRequired && "required",
    values?.join(" | ") ?? type,
    minimum && `${minimum} to ${maximum ?? "…"}`,
    maxLength && `at most ${maxLength} characters`,
    fallback && `default ${fallback}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** Follows a `$ref` into the components, and joins what `allOf` lists. */
function resolve<Value extends object>(root: Description, value: Reference | Value): Value {
  if ("$ref" in value) {
    const [, , kind = "", name = ""] = value.$ref.split("/");
    // Which kind is at the end of a reference is the description's promise.
    return resolve(root, root.components[kind]?.[name] as Reference | Value);
  }
  const { allOf = [] } = value as Schema; // Nothing else has it.
  return Object.assign({}, ...allOf.map((part) => resolve(root, part)), value);
}
