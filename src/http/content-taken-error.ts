/** Passed to `next` if the content has been read before. Nothing was stored, and the request has no response. */
export class ContentTakenError extends Error {
  override readonly name = "ContentTakenError";
  override readonly message =
    "Cannot read the body: another parser has read it or decodes it; mount the service before body parsers";
}
