/** What a person asked to keep in this tab: until the tab is closed, over reloads, for the page at this path alone. */

const nameOf = (item: string): string => `${location.pathname} ${item}`;

/** @param text "" keeps nothing any more */
export function keep(item: string, text: string): void {
  try {
    if (text === "") {
      sessionStorage.removeItem(nameOf(item));
    } else {
      sessionStorage.setItem(nameOf(item), text);
    }
  } catch {
    // A browser may be set to keep nothing. Then a reload begins anew.
  }
}

export function kept(item: string): string {
  try {
    return sessionStorage.getItem(nameOf(item)) ?? "";
  } catch {
    return ""; // As above.
  }
}
