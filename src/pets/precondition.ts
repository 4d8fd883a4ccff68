/**
 * The preconditions of a request on one animal (RFC 9110, 13.1). An animal's entity tag is its status and its version,
 * such as `"pending-7"`: no two states of an animal ever have one tag. `If-Match` may also name a status alone, which
 * stands for every version of it:
 *
 *     If-Match      = "*" / #entity-tag / name
 *     If-None-Match = "*" / #entity-tag / state
 *     entity-tag    = [ "W/" ] DQUOTE *( %x21 / %x23-7E / %x80-FF ) DQUOTE
 *     name          = status / state
 *     state         = status "-" version
 *
 * A name without quotation marks counts as quoted: shells take them away. Node joins two fields of a name to a list.
 */

import { type PetStatus, petStatuses } from "./pet.ts";

/** Empty elements are allowed (RFC 9110, 5.6.1), but there must be a tag. */
const tagList = /^(?:[ \t,]*(?:W\/)?"[!#-~\x80-\xff]*"(?=[ \t]*(?:,|$)))+[ \t,]*$/;
const weakTag = /(^|[ \t,])W\/(?=")/g;
const status = `(?:${petStatuses.join("|")})`;
const state = new RegExp(`^${status}-[1-9][0-9]{0,9}$`);
const name = new RegExp(`^${status}(?:-[1-9][0-9]{0,9})?$`);
const loneStatus = new RegExp(`(?:^|")${status}(?:"|$)`);

/** What an animal must be, and what not. Each name is a status, such as `pending`, or a state, such as `pending-7`. */
export interface Preconditions {
  /** One of them must be the animal's. Every status if there is no `If-Match`, or if it is `*`. */
  readonly match: readonly string[];
  /** None of them may be the animal's. Every status if `If-None-Match` is `*`; else states only. */
  readonly noneMatch: readonly string[];
}

/** Undefined if a field is malformed. */
export function readPreconditions(
  fields: Readonly<Record<string, string | readonly string[] | undefined>>,
): Preconditions | undefined {
  const ifMatch = fields["if-match"]?.toString();
  const ifNoneMatch = fields["if-none-match"]?.toString();
  const match = ifMatch === undefined ? petStatuses : namesIn(ifMatch, name);
  // By weak comparison (RFC 9110, 8.8.3.2): a weak tag counts as a strong one.
  const noneMatch = ifNoneMatch === undefined ? [] : namesIn(ifNoneMatch.replace(weakTag, "$1"), state);
  return match && noneMatch && { match, noneMatch };
}

/** Whether `If-None-Match` names a status alone: it stands for no version, so that its tag is no animal's. */
export function namesStatus(ifNoneMatch: string): boolean {
  return loneStatus.test(ifNoneMatch);
}

/** What comes of a request on an animal in this state, in the order of RFC 9110, 13.2.2. */
export function outcomeFor(
  { match, noneMatch }: Preconditions,
  status: PetStatus,
  version: number,
): "failed" | "unchanged" | "proceed" {
  const isNamed = (names: readonly string[]): boolean =>
    names.includes(status) || names.includes(`${status}-${version}`);
  return !isNamed(match) ? "failed" : isNamed(noneMatch) ? "unchanged" : "proceed";
}

/** @param version undefined: of a change that a release stored which knew no versions */
export function entityTag(status: PetStatus, version: number | undefined): string {
  return version === undefined ? `"${status}"` : `"${status}-${version}"`;
}

/** The names in the field that have the form; undefined if it is malformed. Other tags match nothing. */
function namesIn(field: string, form: RegExp): readonly string[] | undefined {
  if (field === "*") {
    return petStatuses;
  }
  if (form.test(field)) {
    return [field];
  }
  const tags = tagList.test(field) ? field.match(/(?:W\/)?"[^"]*"/g) : undefined;
  return tags?.map((tag) => tag.slice(1, -1)).filter((tag) => form.test(tag)); // That of a weak tag has no form.
}
