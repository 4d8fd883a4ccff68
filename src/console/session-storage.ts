/**
 * The session storage of the tab: what is stored survives a reload, and ends with the tab. Pages at other paths of the
 * same origin have items of their own.
 */

const nameOf = (item: string): string => `${location.pathname} ${item}`;

/** @param text "" removes the item */
export function store(item: string, text: string): void {
  try {
    if (text === "") {
      sessionStorage.removeItem(nameOf(item));
    } else {
      sessionStorage.setItem(nameOf(item), text);
    }
  } catch {
    // A browser may be set to store nothing. Then a reload begins anew.
  }
}

export function stored(item: string): string {
  try {
    return sessionStorage.getItem(nameOf(item)) ?? "";
  } catch {
    return ""; // As if empty.
  }
}

/** The field survives a reload if the key does. */
export function storeField({ id, value }: HTMLInputElement): void {
  store(id, stored("key") && value);
}

export function restoreField(field: HTMLInputElement): void {
  field.value = stored(field.id) || field.value;
}
