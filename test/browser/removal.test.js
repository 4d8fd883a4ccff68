/**
 * *Remove* in the menu of a row: a mistake is taken back by a dialog that names the animal, only if it still is what its
 * row shows.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  add, change, changeStatus, closeBrowser, idle, loseResponse, notice, openWithKey, press, pressInMenu, removeElsewhere, rows, skip, statuses,
} from "./console.js";

after(closeBrowser);

const pets = ["Rex", "Misty", "Otto"].map((name) => ({ name, categoryId: 1 }));
const names = async (page) => (await rows(page)).map(([, name]) => name);

test("the dialog names the animal, and Remove in it removes the animal: its row goes, and nothing is undone", { skip }, async (context) => {
  const { program, page, requests } = await openWithKey(context, { pets });
  const before = requests.length;
  await pressInMenu(page, 3, "Remove");
  const dialog = page.getByRole("dialog", { name: "Remove animal 3, Otto?" });
  assert.match(await dialog.innerText(), /It goes for good: a removal has no Undo\./);
  assert.equal(requests.length, before);
  const [request] = await Promise.all([page.waitForRequest("**/v1/pets/3"), dialog.getByRole("button", { name: "Remove" }).click()]);
  await notice(page, "Animal 3 is removed: Otto");
  const fields = request.headers();
  assert.deepEqual([request.method(), fields["if-match"], fields["content-type"], request.postData()], ["DELETE", '"available"', undefined, null]);
  assert.match(fields["idempotency-key"], /^"[\w-]+"$/);
  assert.deepEqual(requests.slice(before), ["DELETE /v1/pets/3"]);
  assert.deepEqual(await names(page), ["Rex", "Misty"]);
  assert.equal(await page.locator("#notice button").count(), 0);
  assert.deepEqual(await stored(program), ["Rex", "Misty"]);

  // The right one follows, in the same list.
  await add(page, "Ottilie");
  await notice(page, "Animal 4 is added: Ottilie");
  assert.deepEqual(await names(page), ["Rex", "Misty", "Ottilie"]);
});

test("Enter twice, Escape and Cancel remove nothing, and the menu's button has the focus again", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { pets });
  const dialog = page.locator("#removal");
  const more = page.getByRole("button", { name: "More for animal 1" });
  for (const leave of [() => page.keyboard.press("Enter"), () => page.keyboard.press("Escape"), () => press(page, "Cancel")]) {
    await more.focus();
    await page.keyboard.press("Enter");
    await page.locator("#menu button", { hasText: "Remove" }).focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Cancel");
    await leave();
    await dialog.waitFor({ state: "hidden" });
    assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "More for animal 1");
  }
  assert.deepEqual(requests.filter((one) => one.startsWith("DELETE")), []);
  assert.deepEqual(await names(page), ["Rex", "Misty", "Otto"]);
});

test("after a removal the next row has the focus, and after that of the last one the search", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets });
  const focus = () => page.evaluate(() => document.activeElement.querySelector("strong")?.innerText.trim() ?? document.activeElement.id);
  for (const [id, name, focused] of [[1, "Rex", "Misty"], [3, "Otto", "wanted"], [2, "Misty", "wanted"]]) {
    await remove(page, id);
    await notice(page, `Animal ${id} is removed: ${name}`);
    assert.equal(await focus(), focused);
  }
});

test("an animal that another has sold or corrected meanwhile is not removed, and the row shows what it is now", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { pets, allowed: ["status of 412"] });
  await changeStatus(program, 1, "sold");
  await remove(page, 1);
  await notice(page, "Somebody else was faster: Rex is already sold.");
  assert.deepEqual(await statuses(page), ["sold", "available", "available"]);
  await change(program, 1, { name: "Rexy" });
  await remove(page, 1);
  await notice(page, "Somebody else was faster: Rex has changed meanwhile");
  assert.deepEqual(await names(page), ["Rexy", "Misty", "Otto"]);
  assert.deepEqual(await stored(program), ["Rexy", "Misty", "Otto"]);
  await remove(page, 1);
  await notice(page, "Animal 1 is removed: Rexy");
});

test("what somebody else has removed is said to be removed already, and its row goes, whatever was pressed", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { pets, allowed: ["status of 404"] });
  await removeElsewhere(program, 1);
  await remove(page, 1);
  await notice(page, "Somebody else was faster: Rex is already removed.");
  await removeElsewhere(program, 2);
  await page.getByRole("button", { name: "Reserve animal 2" }).press("Enter");
  await notice(page, "Somebody else was faster: Misty is already removed.");
  assert.deepEqual(await names(page), ["Otto"]);
  assert.match(await page.evaluate(() => document.activeElement.innerText), /Otto/);
  await removeElsewhere(program, 3);
  await pressInMenu(page, 3, "Correct");
  await notice(page, "Animal 3 is removed already: Otto");
  assert.deepEqual(await names(page), []);
});

test("a removal whose response was lost is sent again as the same one, and is not called somebody else's", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets, allowed: ["net::ERR_", "status of 404"] });
  const keys = [];
  page.on("request", (request) => request.method() === "DELETE" && keys.push(request.headers()["idempotency-key"]));
  await loseResponse(page);
  await remove(page, 1);
  await notice(page, "No answer");
  assert.deepEqual(await names(page), ["Rex", "Misty", "Otto"], "nothing is known");
  await remove(page, 1);
  await notice(page, "Animal 1 is removed: Rex");
  assert.deepEqual([keys.length, new Set(keys).size], [2, 1]);
  await loseResponse(page);
  await remove(page, 2);
  await notice(page, "No answer");
  await press(page, "Sell animal 2");
  await notice(page, "Your last press may have done it: Misty is already removed.");
  assert.deepEqual(await names(page), ["Otto"]);
});

test("no answer but the service's own removes a row: 204, or 404 of the animal", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets, allowed: ["status of"] });
  for (const [status, body] of [[202, ""], [404, "<h1>Not found</h1>"], [404, '{"code":"route_not_found","message":"No."}'], [502, ""]]) {
    await page.route("**/v1/pets/1", (route) => route.fulfill({ status, body }), { times: 1 });
    await remove(page, 1);
    await notice(page, /^(A server in between|No\.)/);
    assert.deepEqual(await names(page), ["Rex", "Misty", "Otto"], `${status} ${body}`);
  }
});

async function remove(page, id) {
  await pressInMenu(page, id, "Remove");
  await page.locator("#remove").click();
  await idle(page);
}

async function stored({ apiUrl, firstKey }) {
  const response = await fetch(`${apiUrl}/pets`, { headers: { Authorization: `Bearer ${firstKey}` } });
  return (await response.json()).map(({ name }) => name);
}
