/** Puts the page together: the description for the reference and the API's address, then the views. */

import { startAddView } from "./add-view.ts";
import { apiAddress } from "./call-request.ts";
import { CatalogueView } from "./catalogue-view.ts";
import { byId, type Field, setText } from "./dom.ts";
import { parseExact } from "./exact-json.ts";
import { startKeyView } from "./key-view.ts";
import { createQuotaView } from "./quota-view.ts";
import { showReference } from "./reference-view.ts";
import type { Description } from "./reference.ts";
import { showCall, startRequestsView } from "./requests-view.ts";
import { restoreField } from "./session-storage.ts";
import { Session } from "./session.ts";

/** Returns the address of the API. The description is part of the page: it is read without a key. */
async function loadDescription(): Promise<string> {
  let server = "/v1"; // Where the API usually is.
  try {
    const signal = AbortSignal.timeout(10_000);
    const response = await fetch("openapi.json", { credentials: "omit", redirect: "error", signal });
    const description = parseExact(await response.text()) as Description; // The service makes it: it has these members.
    server = description.servers[0]?.url ?? server;
    showReference(description, apiAddress(document.baseURI, server));
  } catch {
    setText("reference-body", "openapi.json could not be read. Is the service running?");
  }
  restoreField(byId<Field>("limit"));
  restoreField(byId<Field>("list-status")); // The statuses are in the description.
  return apiAddress(document.baseURI, server);
}

document.onkeydown = ({ key, repeat }) => key !== "Enter" || !repeat; // A held Enter is one press.
const quotaView = createQuotaView();
const session = new Session(loadDescription(), (call) => {
  showCall(call);
  if (call.code === "insufficient_scope") {
    byId("desk").toggleAttribute("data-read-only", true); // GET /limits may have failed to say so.
  }
  quotaView.show(call);
  checkKey(call);
});
const catalogue = new CatalogueView(session, quotaView);
const checkKey = startKeyView(session, quotaView, catalogue);
startAddView(session, catalogue);
startRequestsView(session);
