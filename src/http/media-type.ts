/** The media types of an animal to add. */
export const jsonTypes: readonly string[] = ["application/json"];

/** The media types of a change (RFC 7396). */
export const patchTypes: readonly string[] = ["application/merge-patch+json", "application/json"];

/**
 * Whether content of this type is one of the `types` of JSON in UTF-8: charset absent, utf-8 or its alias utf8. Other
 * parameters are ignored (RFC 8259, 11).
 *
 *     media-type = type "/" subtype *( OWS ";" OWS [ token "=" ( token / quoted-string ) ] )      RFC 9110, 8.3.1
 */
export function isJsonInUtf8(contentType: string, types: readonly string[]): boolean {
  if (types.includes(contentType)) {
    return true;
  }
  const [type = ""] = /^[^ \t;]*[ \t]*(?=;|$)/.exec(contentType) ?? [];
  if (!types.includes(type.trimEnd().toLowerCase())) {
    return false;
  }
  const parameter =
    /;[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=([\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*"))?[ \t]*/y;
  parameter.lastIndex = type.length;
  while (parameter.lastIndex < contentType.length) {
    const match = parameter.exec(contentType);
    if (match === null || (match[1]?.toLowerCase() === "charset" && !isUtf8(match[2] ?? ""))) {
      return false;
    }
  }
  return true;
}

/** @param value a token or a quoted-string, in which a backslash quotes the next character (RFC 9110, 5.6.4) */
function isUtf8(value: string): boolean {
  return /^"?utf-?8"?$/i.test(value.replaceAll(/\\(.)/g, "$1"));
}

/** Whether a coding is named: not `identity` (RFC 9110, 8.4.1), nor an empty element of the list (5.6.1). */
export function isCoded(contentEncoding: string): boolean {
  const isOther = (coding: string): boolean => !/^[ \t]*(identity[ \t]*)?$/i.test(coding);
  return contentEncoding.split(",").some(isOther);
}
