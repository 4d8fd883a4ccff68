/** What each error code means to the person at the console, and what to do about it. */

const changedOnTheWay = "The request was changed on its way: look at the proxy.";
const correct = "Correct what the message names.";
const newKey = "Press Add: it sends a new one.";
const tooLarge = "Make what you send shorter.";

const byCode: Readonly<Record<string, string>> = {
  no_response: "The service is stopped, or the connection broke. Send it again.",
  malformed_request: changedOnTheWay,
  malformed_json: changedOnTheWay,
  unsupported_media_type: changedOnTheWay,
  method_not_allowed: changedOnTheWay,
  missing_api_key: changedOnTheWay,
  invalid_body: correct,
  invalid_parameter: correct,
  invalid_precondition: correct,
  precondition_required: correct,
  precondition_failed: "Another was faster: ETag has the status now.",
  invalid_idempotency_key: newKey,
  idempotency_key_reused: newKey,
  invalid_api_key: "The key is unknown, revoked or expired. Paste it whole, or ask for another.",
  insufficient_scope: "This key may only list and fetch.",
  pet_not_found: "The catalogue shows which animals there are.",
  route_not_found: "Look at the path, --base-url and the proxy.",
  request_timeout: "It took too long. Send it again.",
  body_too_large: tooLarge,
  uri_too_long: tooLarge,
  header_fields_too_large: tooLarge,
  rate_limited: "Wait for the countdown. Refusals in ten different seconds ban a key.",
  key_banned: "Wait for the countdown. Requests until then do not lengthen the ban.",
  internal_error: "The service failed: its log has the cause, with this X-Request-Id.",
  storage_unavailable: "Send it again later; the service's log has the cause.",
  outcome_unknown: "Send it again: no animal is stored twice.",
};

const unknownCode = "Something in front of the service may have responded.";

export function adviceFor(code: string): string {
  return (Object.hasOwn(byCode, code) ? byCode[code] : undefined) ?? unknownCode;
}
