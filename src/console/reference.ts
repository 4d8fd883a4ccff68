/**
 * What the reference shows of the OpenAPI description: what all operations have, once, and what each has alone.
 */

/** What is read here, as `parseExact` reads it: numbers are texts. */
export interface Description {
  readonly info: { readonly description?: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Named<Named<Part>>;
  readonly components: Named<Named<Part>>;
}

type Named<Value> = Readonly<Record<string, Value>>;

/** An operation, a parameter, a request, a response, a schema or a header field, or a reference to one. */
interface Part {
  readonly $ref?: string;
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Part[];
  readonly responses?: Named<Part>;
  readonly headers?: Named<Part>;
  readonly content?: Named<{ readonly examples?: Named<{ readonly value: unknown }> }>;
  readonly name?: string;
  readonly in?: string;
  readonly schema?: Part;
  readonly examples?: readonly unknown[];
  readonly type?: string;
  readonly allOf?: readonly Part[];
  readonly enum?: readonly string[];
  readonly minimum?: string;
  readonly maximum?: string;
  readonly maxLength?: string;
  readonly pattern?: string;
  readonly default?: string;
  /** "true" for a parameter; the required members of an object. */
  readonly required?: boolean | readonly string[];
  readonly properties?: Named<Part>;
}

/** A parameter, a member of the content, a header field, a response or an error. */
export interface Listed {
  /** Of the list in which it stands. */
  readonly title: "Members" | "Parameters" | "Responses" | "Header fields" | "Errors";
  readonly name: string;
  readonly note: string;
  readonly text: string | undefined;
}

export type Operation = ReturnType<typeof readOperation>;
export type ReferencePet = ReturnType<typeof readPet>;

/** What all operations share, the operations in the order of the description, and the animal. */
export function readReference(root: Description) {
  const operations = Object.entries(root.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, described]) => readOperation(root, method, path, described)),
  );
  const shared = operations[0]?.members.filter((one) => operations.every(({ members }) => has(members, one))) ?? [];
  const { apiKey } = root.components["securitySchemes"] ?? {};
  return {
    shared: [listed("Parameters", "Authorization", "header", apiKey?.description), ...shared],
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

function readOperation(root: Description, method: string, path: string, described: Part) {
  const parameters = (described.parameters ?? []).map((parameter) => resolve(root, parameter));
  const responses = Object.entries(described.responses ?? {}).map(
    ([status, response]) => ({ status, ...resolve(root, response) }),
  );
  const members: readonly Listed[] = [
    ...parameters.map(({ name = "", in: place, required, schema = {}, description }) =>
      listed("Parameters", name, note(place, required === true, resolve(root, schema)), description),
    ),
    ...responses
      .filter(({ status }) => status < "400")
      .map(({ status, description }) => listed("Responses", status, "", description)),
    ...readFields(root, responses),
    ...responses.flatMap(readErrors),
  ];
  return { ...described, method: method.toUpperCase(), path, parameters, members };
}

/** Each field once, whichever responses have it. */
function readFields(root: Description, responses: readonly Part[]): readonly Listed[] {
  const fields = new Map(responses.flatMap(({ headers = {} }) => Object.entries(headers)));
  return [...fields].map(([name, field]) => listed("Header fields", name, "", resolve(root, field).description));
}

function readErrors(response: Part): readonly Listed[] {
  return Object.values(Object.values(response.content ?? {})[0]?.examples ?? {}).flatMap(({ value }) => {
    const { code, message, status = "" } = value as Readonly<Record<string, string>>;
    return code === undefined ? [] : [listed("Errors", code, status, message)];
  });
}

/** The animal: all members, the fields of the form but for the status, the statuses, and an example. */
function readPet(root: Description) {
  const { Pet: pet = {}, NewPet: newPet = {} } = root.components["schemas"] ?? {};
  const required = [newPet.required ?? []].flat();
  const members = Object.entries({ ...pet.properties, ...newPet.properties }).map(([name, member]) => {
    const schema = resolve(root, member);
    return listed("Members", name, note("", required.includes(name), schema), schema.description);
  });
  const { status: newStatus = {}, ...others } = newPet.properties ?? {};
  const fields = Object.entries(others).map(([name, member]) => {
    const { type, maxLength = "", pattern = "" } = resolve(root, member);
    return { name, isInteger: type === "integer", isRequired: required.includes(name), maxLength, pattern };
  });
  // Numbers are texts here. The example has no string of digits alone, which a test checks.
  const statuses = resolve(root, newStatus).enum ?? [];
  return { members, fields, statuses, example: JSON.stringify(pet.examples?.[0]).replace(/"(-?[0-9]+)"/g, "$1") };
}

/** In a few words: "query, integer, 1 to 100, default 20". */
function note(place: string | undefined, isRequired: boolean, schema: Part): string {
  const { type, enum: values, minimum, maximum, default: fallback } = schema;
  const parts = [
    place,
    isRequired && "required",
    values?.join(" | ") ?? type,
    minimum && `${minimum} to ${maximum ?? "…"}`,
    fallback && `default ${fallback}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** Follows a `$ref` into the components, or joins what `allOf` lists. */
function resolve(root: Description, { $ref, allOf = [], ...own }: Part): Part {
  const [, , kind = "", name = ""] = ($ref ?? "").split("/");
  const parts = $ref === undefined ? allOf : [root.components[kind]?.[name] ?? {}];
  return Object.assign({}, ...parts.map((part) => resolve(root, part)), own);
}
