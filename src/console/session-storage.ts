/**
 * The session storage of the tab: what is stored survives a reload, and ends with the tab. Pages at other paths of the
 * same origin have items of their own. A browser may be set to store nothing: then a reload begins anew.
 */

const nameOf = (item: string): string => `${location.pathname} ${item}`;

/** @param text "" removes the item */
export function store(item: string, text: string): void {
  try {
    sessionStorage.setItem(nameOf(item), text);
    if (text === "") {
      sessionStorage.removeItem(nameOf(item));
    }
  } catch {}
}

export function stored(item: string): string {
  try {
    return sessionStorage.getItem(nameOf(item)) ?? "";
  } catch {
    return "";
  }
}
