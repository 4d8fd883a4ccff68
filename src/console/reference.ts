/**
 * What the reference shows, taken from the OpenAPI description of the service. What every operation has stands once;
 * an operation has only its own. Whatever the description lacks is left out.
 */

/** The members that are read here, as `parseExact` reads them: numbers are texts. */
export interface Description {
  readonly info: { readonly description?: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

interface DescribedOperation {
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

interface Described {
  readonly description?: string;
}

interface Parameter extends Described {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: Reference | Schema;
  readonly example?: unknown;
}

/** Of a request or a response. */
interface Content {
  readonly content?: Readonly<Record<string, Media>>;
}

interface Media {
  readonly schema?: Reference | Schema;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface DescribedResponse extends Content, Described {
  readonly headers?: Readonly<Record<string, Reference | Described>>;
}

interface Schema extends Described {
  readonly type?: string;
  readonly allOf?: readonly (Reference | Schema)[];
  readonly enum?: readonly string[];
  readonly minimum?: string;
  readonly maximum?: string;
  readonly maxLength?: string;
  readonly default?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Reference | Schema>>;
  readonly items?: Reference | Schema;
  readonly examples?: readonly unknown[];
}

interface ShownError {
  readonly code?: string;
  readonly message: string;
  readonly status: string;
}

/** A parameter, a member of the content, a header field, a response or an error. */
export interface Member {
  readonly name: string;
  readonly note: string;
  readonly text: string | undefined;
}

/** A member, and the title of the list in which it stands. */
export interface Listed extends Member {
  readonly title: "Parameters" | "Responses" | "Header fields" | "Errors";
}

export interface Operation extends Pick<DescribedOperation, "summary" | "description" | "deprecated"> {
  readonly method: string;
  readonly path: string;
  readonly members: readonly Listed[];
  /** The first example of a request: its target below the base address, and its content. */
  readonly target: string;
  readonly content: unknown;
  /** JSON of a successful response; undefined if it is made of animals. */
  readonly example: string | undefined;
}

export interface ApiReference {
  /** Of every operation. */
  readonly shared: readonly Listed[];
  readonly operations: readonly Operation[];
  readonly pet: { readonly members: readonly Member[]; readonly example: string };
}

/** Operations in the order of the description. */
export function readReference(root: Description): ApiReference {
  const operations = Object.entries(root.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method === "get" || method === "post")
      .map(([method, described]) => readOperation(root, method, path, described)),
  );
  const shared = operations[0]?.members.filter((one) => operations.every(({ members }) => has(members, one))) ?? [];
  const schemes = Object.values(root.components["securitySchemes"] ?? {}) as readonly Described[];
  return {
    shared: [
      ...schemes.map(({ description }) => listed("Parameters", "Authorization", "header", description)),
      ...shared,
    ],
    operations: operations.map((operation) => ({
      ...operation,
      members: operation.members.filter((one) => !has(shared, one)),
    })),
    pet: readPet(root),
  };
}

function listed(title: Listed["title"], name: string, note: string, text: string | undefined): Listed {
  return { title, name, note, text };
}

function has(members: readonly Listed[], { name, text }: Listed): boolean {
  return members.some((other) => other.name === name && other.text === text);
}

function readOperation(root: Description, method: string, path: string, described: DescribedOperation): Operation {
  const parameters = (described.parameters ?? []).map((parameter) => resolve(root, parameter));
  const responses = Object.entries(described.responses ?? {}).map(
    ([status, response]) => ({ status, ...resolve(root, response) }),
  );
  const successes = responses.filter(({ status }) => status < "400");
  const media = mediaOf(successes[0]);
  return {
    ...described,
    method: method.toUpperCase(),
    path,
    members: [
      ...parameters.map(({ name, in: place, required, schema = {}, description }) =>
        listed("Parameters", name, note(place, required, resolve(root, schema)), description),
      ),
      ...successes.map((one) => listed("Responses", one.status, typeName(mediaOf(one)?.schema), one.description)),
      ...readFields(root, responses),
      ...responses.flatMap(readErrors),
    ],
    target: exampleTarget(path, parameters),
    content: firstExample(mediaOf(resolve(root, described.requestBody ?? {}))),
    example: typeName(media?.schema).startsWith("Pet") ? undefined : exampleJson(firstExample(media) ?? {}),
  };
}

function mediaOf(content: Content | undefined): Media | undefined {
  return Object.values(content?.content ?? {})[0];
}

function firstExample(media: Media | undefined): unknown {
  return Object.values(media?.examples ?? {})[0]?.value;
}

function exampleTarget(path: string, parameters: readonly Parameter[]): string {
  const queried = parameters.filter((one) => one.in === "query").map(({ name, example }) => [name, String(example)]);
  const query = new URLSearchParams(Object.fromEntries(queried) as Record<string, string>);
  const filled = path.replace(/\{(.+?)\}/g, (_, name) => String(parameters.find((one) => one.name === name)?.example));
  return `${filled}?${query}`.replace(/\?$/, "");
}

/** Each field once, whichever responses have it. */
function readFields(root: Description, responses: readonly DescribedResponse[]): readonly Listed[] {
  const fields = new Map(responses.flatMap(({ headers = {} }) => Object.entries(headers)));
  return [...fields].map(([name, field]) => listed("Header fields", name, "", resolve(root, field).description));
}

/** An example of an error response is an error of the service. */
function readErrors(response: DescribedResponse): readonly Listed[] {
  const values = Object.values(mediaOf(response)?.examples ?? {}).map(({ value }) => value as ShownError);
  return values.flatMap(({ code, message, status }) => (code ? [listed("Errors", code, status, message)] : []));
}

/** As it is added, and what the service adds to it. */
function readPet(root: Description): ApiReference["pet"] {
  const { Pet: pet = {}, NewPet: newPet = {} } = (root.components["schemas"] ?? {}) as Readonly<Record<string, Schema>>;
  const members = Object.entries({ ...pet.properties, ...newPet.properties }).map(([name, member]) => {
    const schema = resolve(root, member);
    return { name, note: note("", newPet.required?.includes(name), schema), text: schema.description };
  });
  return { members, example: exampleJson(pet.examples?.[0] ?? {}) };
}

/** As "Pet", or "Pet[]". */
function typeName(schema: Reference | Schema = {}): string {
  if ("$ref" in schema) {
    return schema.$ref.split("/").at(-1) ?? "";
  }
  return schema.items === undefined ? "" : `${typeName(schema.items)}[]`;
}

/** Numbers are texts here. No example has a string of digits alone, which a test checks. */
function exampleJson(value: unknown): string {
  return JSON.stringify(value).replace(/"(-?[0-9]+)"/g, "$1");
}

/** In a few words: "query, integer, 1 to 100, default 20". */
function note(place: string, isRequired: boolean | undefined, schema: Schema): string {
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
