/**
 * The buttons of a row: reserve, sell and release an animal, so that two people never do so with the same one.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { changeStatus, closeBrowser, openWithKey, skip } from "./console.js";

after(closeBrowser);

const pets = ["Rex", "Misty"].map((name) => `{"name":"${name}","categoryId":9007199254740993}`);

test("a row's animal is reserved, sold and released, if it still is what the row shows", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { pets });
  assert.deepEqual(await offered(page, 2), ["Reserve animal 2", "Sell animal 2", "Remove animal 2"]);
  for (const [name, from, to, notice, offers] of [
    ["Reserve", "available", "pending", "Animal 2 is reserved: Misty", ["Sell animal 2", "Release animal 2", "Remove animal 2"]],
    ["Sell", "pending", "sold", "Animal 2 is sold: Misty", ["Release animal 2", "Remove animal 2"]],
    ["Release", "sold", "available", "Animal 2 is released: Misty", ["Reserve animal 2", "Sell animal 2", "Remove animal 2"]],
    ["Sell", "available", "sold", "Animal 2 is sold: Misty", ["Release animal 2", "Remove animal 2"]],
  ]) {
    const [request] = await Promise.all([page.waitForRequest("**/v1/pets/2"), press(page, `${name} animal 2`, notice)]);
    const fields = request.headers();
    assert.deepEqual([request.method(), fields["if-match"], request.postData()], ["PATCH", `"${from}"`, `{"status":"${to}"}`]);
    assert.match(fields["idempotency-key"], /^"[\w-]+"$/);
    assert.deepEqual(await statuses(page), ["available", to]);
    assert.deepEqual(await offered(page, 2), offers);
    const stored = await (await fetch(`${program.apiUrl}/pets?after=1`, { headers: bearer(program) })).text();
    assert.equal(stored, `[{"id":2,"name":"Misty","categoryId":9007199254740993,"status":"${to}"}]`);
  }
});

test("who comes too late is told in plain words, and the row shows what the animal is now, at no further request", { skip }, async (context) => {
  const { program, page, requests } = await openWithKey(context, { pets, allowed: ["status of 412"] });
  await changeStatus(program, 1, "sold");
  const before = requests.length;
  await press(page, "Reserve animal 1", "Rex was not reserved: it is sold now, no longer available; somebody else was faster.");
  assert.deepEqual(await statuses(page), ["sold", "available"]);
  assert.deepEqual(await offered(page, 1), ["Release animal 1", "Remove animal 1"]);
  assert.deepEqual(requests.slice(before), ["PATCH /v1/pets/1"]);
});

test("a change whose response was lost is sent again as the same one, which is no second change", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets, allowed: ["net::ERR_"] });
  const sent = [];
  await page.route("**/v1/pets/1", async (route) => {
    sent.push(route.request().headers()["idempotency-key"]);
    await route.fetch();
    await route.abort("connectionreset"); // The service has done it.
  });
  await press(page, "Reserve animal 1", /^No answer/);
  assert.deepEqual(await statuses(page), ["available", "available"], "nothing is known");
  await page.unroute("**/v1/pets/1");
  const [request] = await Promise.all([
    page.waitForRequest("**/v1/pets/1"),
    press(page, "Reserve animal 1", "Animal 1 was reserved: Rex . Find shows what it is now."),
  ]);
  assert.equal(request.headers()["idempotency-key"], sent[0]);
  assert.deepEqual(await statuses(page), ["pending", "available"]);
});

test("a double click changes once, and so does a second Enter: no other button takes the place of the pressed one", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { pets });
  await page.getByRole("button", { name: "Reserve animal 1" }).dblclick({ delay: 150 }); // The first click is answered by then.
  await notice(page, /is reserved/);
  await page.getByRole("button", { name: "Reserve animal 2" }).focus();
  for (let count = 0; count < 2; count++) {
    await page.keyboard.press("Enter");
    await notice(page, "Animal 2 is reserved: Misty");
    await page.locator("body[aria-busy=false]").waitFor();
  }
  assert.deepEqual(await statuses(page), ["pending", "pending"]);
  assert.equal(requests.filter((line) => line.startsWith("PATCH")).length, 2);
  assert.equal(await page.evaluate(() => document.activeElement.cells[1].innerText.trim()), "Misty", "its row has the focus");
});

function bearer({ firstKey }) {
  return { Authorization: `Bearer ${firstKey}` };
}

async function press(page, name, text) {
  await page.getByRole("button", { name, exact: true }).click();
  await notice(page, text);
}

function notice(page, text) {
  return page.locator("#notice", { hasText: text }).waitFor();
}

function statuses(page) {
  return page.locator("#pets .badge").allInnerTexts();
}

/** The names of the buttons that the row of an animal offers. */
function offered(page, id) {
  return page.getByRole("button", { name: new RegExp(`animal ${id}$`) }).evaluateAll((all) => all.map((button) => button.ariaLabel));
}
