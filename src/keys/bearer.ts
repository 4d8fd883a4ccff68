/**
 * The bearer token in the value of an Authorization field. Only the grammar is judged here, not the key.
 *
 *     credentials = auth-scheme [ 1*SP b64token ]                                       RFC 9110, 11.4; RFC 6750, 2.1
 *     auth-scheme = token                             ; "Bearer", in any case           RFC 9110, 11.1
 *     b64token    = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="        RFC 6750, 2.1
 *     tchar       = "!" / "#" / "$" / "%" / "&" / "'" / "*" / "+" / "-" / "." / "^" / "_" / "`" / "|" / "~"
 *                   / DIGIT / ALPHA                   ; what a token is made of         RFC 9110, 5.6.2
 */

/** The scheme ends where no tchar follows: `Bearers` and `Bearer-2` are other schemes. */
const bearerScheme = /^Bearer(?![!#$%&'*+\-.^_`|~0-9A-Za-z])/i;

/** Anchored, and each class ends where the next begins: the time is linear in the field's length. */
const bearerCredentials = /^Bearer +([0-9A-Za-z\-._~+/]+=*)$/i;

/**
 * What stands behind the scheme `Bearer`. Undefined where there is no field, or another scheme: nobody tried a key
 * here. Empty where the scheme is Bearer but no token of the right grammar follows (none, two, a quoted one, a tab in
 * place of the space): somebody tried, and no key is empty.
 */
export function bearerToken(field: string | undefined): string | undefined {
  if (field === undefined || !bearerScheme.test(field)) {
    return undefined;
  }
  return bearerCredentials.exec(field)?.[1] ?? "";
}
