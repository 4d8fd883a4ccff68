/**
 * Where the API is, seen from this page. The page is at PREFIX/, where PREFIX is what a proxy has put in front; the
 * service's description names the public base address, or only the path where the API is mounted.
 */

/**
 * The base address of the API, without a slash at its end.
 *
 * A base address of this origin is taken as it is. One of another origin must not be called from here, so only its path
 * is used: like a bare path, it is where the service mounts the API, below the same prefix as this page.
 *
 * @param page address of this page
 * @param server the first server of the description
 */
export function apiAddress(page: string, server: string): string {
  const root = new URL(".", page);
  const named = new URL(server, root);
  const isAbsolute = /^https?:/i.test(server);
  const url = isAbsolute && named.origin === root.origin ? named : new URL(`.${named.pathname}`, root);
  return url.href.replace(/\/$/, "");
}

/** The query of the link to the next page (RFC 8288), as "?limit=…"; undefined if there is none. */
export function nextQuery(link: string | null): string | undefined {
  return /<[^>?]*(\?[^>]*)>\s*;\s*rel="?next"?/.exec(link ?? "")?.[1];
}
