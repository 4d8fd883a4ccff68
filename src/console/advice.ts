/**
 * What each error code means to the person at the console, and what to do about it.
 */

const changedOnTheWay = "The request was changed on its way: look at the proxy.";
const tooLarge = "Make what you send shorter.";

const byCode: Readonly<Record<string, string>> = {
  no_response: "The service is stopped, or the connection broke. Look at its log; send again.",
  malformed_request: changedOnTheWay,
  malformed_json: changedOnTheWay,
  unsupported_media_type: changedOnTheWay,
  method_not_allowed: changedOnTheWay,
  missing_api_key: changedOnTheWay,
  invalid_body: "Correct what the message names, and add again. Nothing was stored.",
  invalid_parameter: "Correct what the message names, and list again.",
  invalid_idempotency_key: "Press Add: it sends a new one.",
  idempotency_key_reused: "Another animal has this Idempotency-Key. Press Add: it sends a new one.",
  invalid_api_key: "It is unknown, revoked or expired. Forget it; paste one whole, or make another.",
  insufficient_scope: "This key may list and fetch only. To add animals, use another key.",
  pet_not_found: "List the catalogue to see which animals there are.",
  route_not_found: "The API is not at this path: look at --base-url and the proxy.",
  request_timeout: "It took too long. Send it again.",
  body_too_large: tooLarge,
  uri_too_long: tooLarge,
  header_fields_too_large: tooLarge,
  rate_limited: "Wait for the countdown. Refusals in ten different seconds ban a key.",
  key_banned: "Wait for the countdown. Requests until then do not lengthen the ban.",
  internal_error: "The service failed: its log has the cause, with this X-Request-Id.",
  storage_unavailable: "Nothing was stored. Send again later; the log has the cause.",
  outcome_unknown: "Send again: no animal is stored twice.",
};

const unknownCode = "Something in front of the service may have responded.";

export function adviceFor(code: string): string {
  return (Object.hasOwn(byCode, code) ? byCode[code] : undefined) ?? unknownCode;
}
