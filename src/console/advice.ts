/** What an error code means to the person at the page, and what to do, where the service's words are for programs. */

const table: Readonly<Record<string, string>> = {
  no_response: "No answer: the service is stopped, or the connection broke. Press again: nothing is done twice.",
  outcome_unknown: "It may have been stored. Press again: nothing is stored twice.",
  invalid_api_key: "The service does not know this key: it is mistyped, revoked or expired.",
  too_many_failures: "The service does not know this key, and too many wrong ones were tried here.",
  rate_limited: "The requests of this key are used up.",
  key_banned: "This key is banned for a while: it sent too many requests.",
  internal_error: "The service failed: its log says why.",
};

/** @param code and message of the response, empty if it is not the service's */
export function adviceFor(code: string, message: string, status = 0): string {
  const own = Object.hasOwn(table, code) ? table[code] : message;
  const between = `A server in between answered (${status}). Try again; if it goes on, tell whoever runs the service.`;
  return own || between;
}
