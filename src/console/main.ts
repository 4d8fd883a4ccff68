/** Puts the page together. The program serves the API beside this page, whatever prefix a proxy adds to both. */

import { startAddView } from "./add-view.ts";
import { CatalogueView } from "./catalogue-view.ts";
import { byId, type Field } from "./dom.ts";
import { startKeyView } from "./key-view.ts";
import { createQuotaView } from "./quota-view.ts";
import { restoreField } from "./session-storage.ts";
import { Session } from "./session.ts";

restoreField(byId<Field>("limit"));
restoreField(byId<Field>("list-status"));
document.onkeydown = ({ key, repeat }) => key !== "Enter" || !repeat; // A held Enter is one press.
const quotaView = createQuotaView();
const session = new Session(new URL("v1", document.baseURI).href, (call) => {
  if (call.code === "insufficient_scope") {
    byId("desk").toggleAttribute("data-read-only", true); // GET /limits may have failed to say so.
  }
  quotaView.show(call);
  checkKey(call);
});
const catalogue = new CatalogueView(session, quotaView);
const checkKey = startKeyView(session, quotaView, catalogue);
startAddView(session, catalogue);
