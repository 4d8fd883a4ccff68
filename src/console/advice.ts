/** What each error code means to the person at the console, and what to do about it. */

const table = [
  [
    "The request was changed on its way: look at the proxy.",
    "malformed_request malformed_json unsupported_media_type method_not_allowed missing_api_key",
  ],
  ["Correct what the message names.", "invalid_body invalid_parameter invalid_precondition precondition_required"],
  ["Press Add: it sends a new one.", "invalid_idempotency_key idempotency_key_reused"],
  ["Make what you send shorter.", "body_too_large uri_too_long header_fields_too_large"],
  ["The service is stopped, or the connection broke. Send it again.", "no_response"],
  ["Another was faster: ETag has the status now.", "precondition_failed"],
  ["The key is unknown, revoked or expired. Paste it whole, or ask for another.", "invalid_api_key"],
  ["This key may only list and fetch.", "insufficient_scope"],
  ["The catalogue shows which animals there are.", "pet_not_found"],
  ["Look at the path, --base-url and the proxy.", "route_not_found"],
  ["It took too long. Send it again.", "request_timeout"],
  ["The buttons rest until then: refusals in ten different seconds ban a key.", "rate_limited"],
  ["Requests until then do not lengthen the ban.", "key_banned"],
  ["The service failed: its log has the cause, with this X-Request-Id.", "internal_error"],
  ["Send it again later; the service's log has the cause.", "storage_unavailable"],
  ["Send it again: no animal is stored twice.", "outcome_unknown"],
] as const;

export function adviceFor(code: string): string {
  const [advice] = table.find(([, codes]) => codes.split(" ").includes(code)) ?? [];
  return advice ?? "Something in front of the service may have responded.";
}
