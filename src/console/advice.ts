/** What an error code means to the person at the page, and what to do, where the service's words are for programs. */

const table: Readonly<Record<string, string>> = {
  no_response: "No answer: the service is stopped, or the connection broke. Press again: nothing is done twice.",
  outcome_unknown: "It may have been stored. Press again: nothing is stored twice.",
  invalid_api_key: "The service does not know this key: it is mistyped, revoked or expired.",
  rate_limited: "The requests of this key are used up. Keep trying and the key will be banned.",
  key_banned: "This key is banned for a while: it sent too many requests.",
  internal_error: "The service failed: its log says why.",
};

/**
 * @param code empty if the response is not the service's
 * @param message of the response, which is for people, too
 */
export function adviceFor(code: string, message: string): string {
  const own = Object.hasOwn(table, code) ? table[code] : message;
  return own || "Something between this page and the service answered.";
}
