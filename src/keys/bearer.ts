/**
 * Finds the bearer token in the value of an Authorization field. Checks the grammar only, not the key.
 *
 *     credentials = auth-scheme [ 1*SP b64token ]                                       RFC 9110, 11.4; RFC 6750, 2.1
 *     auth-scheme = token                             ; "Bearer", in any case           RFC 9110, 11.1
 *     b64token    = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="        RFC 6750, 2.1
 *     tchar       = "!" / "#" / "$" / "%" / "&" / "'" / "*" / "+" / "-" / "." / "^" / "_" / "`" / "|" / "~"
 *                   / DIGIT / ALPHA                   ; the characters of a token        RFC 9110, 5.6.2
 */

/** A scheme is a whole token: `Bearers` and `Bearer-2` are other schemes. */
const bearerScheme = /^Bearer(?![!#$%&'*+\-.^_`|~0-9A-Za-z])/i;

/** Linear in the field's length: the pattern is anchored, and no character fits two neighbouring parts. */
const bearerCredentials = /^Bearer +([0-9A-Za-z\-._~+/]+=*)$/i;

/**
 * Returns the bearer token. Returns undefined if there is no field or it has another scheme: the client has sent no
 * key. Returns "" if the scheme is Bearer but no well-formed token follows (none, two, a quoted one, a tab instead of
 * the space): the client has sent a wrong key, because no key is empty.
 */
export function bearerToken(field: string | undefined): string | undefined {
  if (field === undefined || !bearerScheme.test(field)) {
    return undefined;
  }
  return bearerCredentials.exec(field)?.[1] ?? "";
}
