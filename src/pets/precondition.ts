/**
 * The preconditions of a request on one animal (RFC 9110, 13.1). Only the status of an animal changes, so that its
 * entity tag is its status in quotation marks, and a field names a set of statuses:
 *
 *     If-Match   = If-None-Match = "*" / #entity-tag / status
 *     entity-tag = [ "W/" ] DQUOTE *( %x21 / %x23-7E / %x80-FF ) DQUOTE
 *
 * A status without quotation marks counts as quoted: shells take them away. Node joins two fields of a name to a list.
 */

import { isPetStatus, type PetStatus, petStatuses } from "./pet.ts";

/** Empty elements are allowed (RFC 9110, 5.6.1), but there must be a tag. */
const tagList = /^(?:[ \t,]*(?:W\/)?"[!#-~\x80-\xff]*"(?=[ \t]*(?:,|$)))+[ \t,]*$/;

/** The statuses that both fields name. */
export interface Preconditions {
  /** Every status if there is no `If-Match`. */
  readonly match: readonly PetStatus[];
  readonly noneMatch: readonly PetStatus[];
}

/** Undefined if a field is malformed. */
export function readPreconditions(
  fields: Readonly<Record<string, string | readonly string[] | undefined>>,
): Preconditions | undefined {
  const match = fields["if-match"]?.toString();
  const noneMatch = fields["if-none-match"]?.toString();
  const matched = match === undefined ? petStatuses : readTags(match, "strong");
  const unmatched = noneMatch === undefined ? [] : readTags(noneMatch, "weak");
  return matched && unmatched && { match: matched, noneMatch: unmatched };
}

/** What comes of a request on an animal of this status, in the order of RFC 9110, 13.2.2. */
export function outcomeFor(status: PetStatus, preconditions: Preconditions): "failed" | "unchanged" | "proceed" {
  if (!preconditions.match.includes(status)) {
    return "failed";
  }
  return preconditions.noneMatch.includes(status) ? "unchanged" : "proceed";
}

export function entityTag(status: PetStatus): string {
  return `"${status}"`;
}

/**
 * The statuses that the field names; undefined if it is malformed.
 * @param comparison by "strong" a weak tag matches nothing (RFC 9110, 8.8.3.2)
 */
function readTags(field: string, comparison: "strong" | "weak"): readonly PetStatus[] | undefined {
  if (field === "*") {
    return petStatuses;
  }
  if (isPetStatus(field)) {
    return [field];
  }
  if (!tagList.test(field)) {
    return undefined;
  }
  const tags = field.match(/(?:W\/)?"[^"]*"/g) ?? [];
  const named = comparison === "strong" ? tags : tags.map((tag) => tag.replace(/^W\//, ""));
  return petStatuses.filter((status) => named.includes(entityTag(status)));
}
