/**
 * The parameters in the query of listPets: found, decoded, and each there once. What their values may be is for
 * `validate.ts` to judge.
 */

import type { Faults } from "./faults.ts";

/** Decoded; undefined where the query does not name it. */
export interface ListParameters {
  limit: string | undefined;
  status: string | undefined;
  after: string | undefined;
}

/**
 * Reads the query as browsers write it (application/x-www-form-urlencoded, WHATWG URL 5.1): pairs between `&`, of which
 * empty ones (`&&`, a last `&`) say nothing and are passed over; names and values percent-encoded UTF-8, `+` a space.
 * Unlike there, other percent signs are a fault, and so is a parameter that is unknown, repeated, or has no value
 * (`limit`, `limit=`).
 *
 * @param query the text after `?`
 * @param faults is told whatever is wrong; the result must not be used then
 */
export function readListParameters(query: string, faults: Faults): ListParameters {
  const parameters: ListParameters = { limit: undefined, status: undefined, after: undefined };
  const decode = /[%+]/.test(query) ? decodeForm : asItStands;
  for (let start = 0; start < query.length; ) {
    const ampersand = query.indexOf("&", start);
    const end = ampersand === -1 ? query.length : ampersand;
    if (end > start) {
      readPair(query.slice(start, end), decode, parameters, faults);
    }
    start = end + 1;
  }
  return parameters;
}

type Decode = (text: string) => string | undefined;

function readPair(pair: string, decode: Decode, parameters: ListParameters, faults: Faults): void {
  const equals = pair.indexOf("=");
  const nameEnd = equals === -1 ? pair.length : equals;
  const encodedName = pair.slice(0, nameEnd);
  const name = decode(encodedName);
  const value = decode(pair.slice(nameEnd + 1));
  // No parameters[name]: looking up a name that was cut from a text took longer than all else here.
  switch (name) {
    case "limit":
      parameters.limit = onlyValue(name, parameters.limit, value, faults);
      break;
    case "status":
      parameters.status = onlyValue(name, parameters.status, value, faults);
      break;
    case "after":
      parameters.after = onlyValue(name, parameters.after, value, faults);
      break;
    case undefined:
      faults.add(encodedName, "is not percent-encoded UTF-8");
      break;
    default:
      faults.add(name, "is not a parameter of this operation");
  }
}

/** @param value undefined: not percent-encoded UTF-8 */
function onlyValue(name: string, earlier: string | undefined, value: string | undefined, faults: Faults): string {
  if (earlier !== undefined) {
    faults.add(name, "is repeated");
  } else if (value === undefined) {
    faults.add(name, "is not percent-encoded UTF-8");
  } else if (value === "") {
    faults.add(name, "is empty");
  }
  return value ?? "";
}

function asItStands(text: string): string {
  return text;
}

/** undefined: not percent-encoded UTF-8. */
function decodeForm(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // A URIError, which says no more than this.
    return undefined;
  }
}
