/**
 * Takes the key, asks once for its quota, and forgets it on demand.
 */

import { byId, notify, onPress, onSubmit, setText } from "./dom.ts";
import type { Limits } from "./quota.ts";
import type { QuotaView } from "./quota-view.ts";
import { explain, type Session } from "./session.ts";

export function startKeyView(session: Session, quotaView: QuotaView): void {
  const input = byId("key");

  async function askLimits(): Promise<void> {
    const exchange = await session.request("/limits");
    const { plan } = exchange.body as Partial<Limits>; // A proxy's own page has none.
    if (exchange.response?.ok === true && plan !== undefined) {
      notify("key-notice", "good", `The key works, on the ${plan} plan.`);
    } else {
      notify("key-notice", "bad", ...explain(exchange));
    }
    use(exchange.response?.status === 401 ? "" : session.key);
  }

  function use(key: string): void {
    session.key = key;
    showKey(key);
    if (key === "") {
      quotaView.forget();
      byId("send-again").hidden = true; // With another key the same request would add a second animal.
    }
  }

  onSubmit("key-form", () => {
    // A pasted line may hold more than the key.
    const key = /as_[0-9A-Za-z]{43}/.exec(input.value)?.[0] ?? input.value.trim();
    if (!/^[!-~]+$/.test(key)) {
      notify("key-notice", "bad", "Paste a key: as_ and 43 letters and digits.");
      input.focus();
      return;
    }
    input.value = ""; // From here on it is in memory alone.
    session.key = key;
    void askLimits();
  });
  onPress("refresh", askLimits);
  onPress("forget", () => {
    use("");
    notify("key-notice", "", "Forgotten.");
  });
}

/** If there is no key, asks for one. */
export function isKeyMissing(session: Session): boolean {
  if (session.key !== "") {
    return false;
  }
  notify("key-notice", "bad", "Enter a key first: every request carries one.");
  byId("key").focus();
  return true;
}

/** Shows the form, or the key in use. If the focus is on what goes, it moves to what comes. */
function showKey(key: string): void {
  const [coming, going] = key === "" ? ["key-form", "key-in-use"] : ["key-in-use", "key-form"];
  const isFocused = byId(going).contains(document.activeElement);
  byId(coming).hidden = false;
  byId(going).hidden = true;
  setText("key-begin", `${key.slice(0, 7)}…`);
  if (isFocused) {
    byId(key === "" ? "key" : "list").focus();
  }
}
