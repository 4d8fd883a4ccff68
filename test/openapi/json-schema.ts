/**
 * Judges a value by a JSON Schema (draft 2020-12), for exactly the keywords that the description uses. An unknown
 * keyword is a fault, so that none is ignored by mistake.
 */

export type Schema = { readonly [keyword: string]: unknown };

type Check = (rule: never, value: unknown, context: Context) => readonly string[];

interface Context {
  readonly schema: Schema;
  readonly path: string;
  readonly resolve: (reference: string) => Schema;
}

const typeChecks: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: (value) => Number.isInteger(value),
  object: isObject,
  array: (value) => Array.isArray(value),
};

const annotations: readonly string[] = ["description", "default", "examples", "example"];

const checks: Readonly<Record<string, Check>> = {
  $ref: (reference: string, value, { path, resolve }) => faultsOf(value, resolve(reference), resolve, path),
  allOf: (schemas: readonly Schema[], value, { path, resolve }) =>
    schemas.flatMap((schema) => faultsOf(value, schema, resolve, path)),
  type: (type: string, value, { path }) => faultUnless(typeChecks[type]?.(value) === true, `${path}: not ${type}`),
  enum: (allowed: readonly unknown[], value, { path }) =>
    faultUnless(allowed.includes(value), `${path}: ${String(value)} is none of ${allowed.join(", ")}`),
  const: (only: unknown, value, { path }) => faultUnless(value === only, `${path}: not ${String(only)}`),
  minimum: (least: number, value, { path }) => faultUnless(Number(value) >= least, `${path}: below ${least}`),
  maximum: (most: number, value, { path }) => faultUnless(Number(value) <= most, `${path}: above ${most}`),
  minLength: (least: number, value, { path }) => faultUnless([...String(value)].length >= least, `${path}: too short`),
  maxLength: (most: number, value, { path }) => faultUnless([...String(value)].length <= most, `${path}: too long`),
  pattern: (pattern: string, value, { path }) =>
    faultUnless(new RegExp(pattern, "u").test(String(value)), `${path}: "${String(value)}" does not match ${pattern}`),
  format: (format: string, value, { path }) => faultUnless(hasFormat(format, value), `${path}: not ${format}`),
  maxItems: (most: number, value, { path }) =>
    faultUnless(!Array.isArray(value) || value.length <= most, `${path}: more than ${most}`),
  items: (schema: Schema, value, { path, resolve }) =>
    Array.isArray(value) ? value.flatMap((item, index) => faultsOf(item, schema, resolve, `${path}[${index}]`)) : [],
  minProperties: (least: number, value, { path }) =>
    faultUnless(!isObject(value) || Object.keys(value).length >= least, `${path}: fewer than ${least}`),
  required: (names: readonly string[], value, { path }) =>
    names.flatMap((name) => faultUnless(isObject(value) && Object.hasOwn(value, name), `${path}: no ${name}`)),
  properties: (schemas: Readonly<Record<string, Schema>>, value, { path, resolve }) =>
    isObject(value)
      ? Object.entries(schemas).flatMap(([name, schema]) =>
          Object.hasOwn(value, name) ? faultsOf(value[name], schema, resolve, `${path}.${name}`) : [],
        )
      : [],
  additionalProperties: (allowed: boolean, value, { schema, path }) => {
    const known = Object.keys((schema["properties"] ?? {}) as object);
    const names = allowed || !isObject(value) ? [] : Object.keys(value);
    return names.flatMap((name) => faultUnless(known.includes(name), `${path}: unknown ${name}`));
  },
};

/** Everything about the value that the schema does not allow; empty if it is valid. */
export function faultsOf(
  value: unknown,
  schema: Schema,
  resolve: (reference: string) => Schema,
  path = "value",
): readonly string[] {
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    if (annotations.includes(keyword)) {
      return [];
    }
    const check = checks[keyword];
    if (check === undefined) {
      return [`${path}: unknown keyword ${keyword}`];
    }
    // The rule comes from the description: a wrong one throws, or fails the test.
    return check(rule as never, value, { schema, path, resolve });
  });
}

function hasFormat(format: string, value: unknown): boolean {
  if (format === "int64") {
    // JSON.parse rounds the large ones, so only their size can be judged.
    return Number.isInteger(value) && Math.abs(Number(value)) <= 2 ** 63;
  }
  return format === "uri-reference" && URL.canParse(String(value), "http://host/");
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function faultUnless(isRight: boolean, fault: string): readonly string[] {
  return isRight ? [] : [fault];
}
