/**
 * *Remove* in a row: a mistake is taken back by two presses, only if the animal still is what its row shows.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { add, changeStatus, closeBrowser, enterKey, openConsole, openWithKey, skip, startProgram } from "./console.js";

after(closeBrowser);

const pets = ["Rex", "Misty", "Otto"].map((name) => ({ name, categoryId: 1 }));

test("the first press asks and the second, which names the animal, removes it: its row goes, and nothing is undone", { skip }, async (context) => {
  const { program, page, requests } = await openWithKey(context, { pets });
  const before = requests.length;
  await press(page, "Remove animal 3");
  await notice(page, "Remove animal 3 for good? Remove Otto");
  assert.equal(requests.length, before);
  const [request] = await Promise.all([page.waitForRequest("**/v1/pets/3"), press(page, "Remove Otto")]);
  await notice(page, "Animal 3 is removed: Otto");
  const fields = request.headers();
  assert.deepEqual([request.method(), fields["if-match"], fields["content-type"], request.postData()], ["DELETE", '"available"', undefined, null]);
  assert.match(fields["idempotency-key"], /^"[\w-]+"$/);
  assert.deepEqual(requests.slice(before), ["DELETE /v1/pets/3"]);
  assert.deepEqual(await rows(page), ["Rex", "Misty"]);
  assert.equal(await page.locator("#notice button").count(), 0);
  assert.deepEqual(await stored(program), ["Rex", "Misty"]);

  // The right one follows, in the same table.
  await add(page, "Ottilie");
  await notice(page, "Animal 4 is added: Ottilie");
  assert.deepEqual(await rows(page), ["Rex", "Misty", "Ottilie new"]);
});

test("Enter twice, a double click, and a press of anything else between the two remove nothing", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { pets });
  const remove = page.getByRole("button", { name: "Remove animal 1" });
  await remove.focus();
  for (let count = 0; count < 3; count++) {
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "notice");
  }
  await remove.dblclick();
  await press(page, "List animals");
  await page.locator("#notice:empty").waitFor({ state: "attached" });
  await page.locator("body[aria-busy=false]").waitFor();
  assert.deepEqual(requests.filter((one) => one.startsWith("DELETE")), []);
  assert.deepEqual(await rows(page), ["Rex", "Misty", "Otto"]);
});

test("after a removal the next row has the focus, and after that of the last one the button that lists", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets });
  const focus = () => page.evaluate(() => document.activeElement.cells?.[1].innerText.trim() ?? document.activeElement.id);
  for (const [id, name, focused] of [[1, "Rex", "Misty"], [3, "Otto", "list"], [2, "Misty", "list"]]) {
    await remove(page, id, name);
    await notice(page, `Animal ${id} is removed: ${name}`);
    assert.equal(await focus(), focused);
  }
});

test("an animal that another has sold meanwhile is not removed, and the row shows what it is now", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { pets, allowed: ["status of 412"] });
  await changeStatus(program, 1, "sold");
  await remove(page, 1, "Rex");
  await notice(page, "Rex was not removed: it is sold now, no longer available; somebody else was faster.");
  assert.deepEqual(await page.locator("#pets .badge").allInnerTexts(), ["sold", "available", "available"]);
  assert.deepEqual(await stored(program), ["Rex", "Misty", "Otto"]);
  await remove(page, 1, "Rex");
  await notice(page, "Animal 1 is removed: Rex");
});

test("what somebody else has removed is said to be removed already, and its row goes, whatever was pressed", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { pets, allowed: ["status of 404"] });
  await removeElsewhere(program, 1);
  await remove(page, 1, "Rex");
  await notice(page, "Animal 1 is removed already: Rex");
  await removeElsewhere(program, 2);
  await page.getByRole("button", { name: "Reserve animal 2" }).press("Enter");
  await notice(page, "Misty was not reserved: it is removed now, no longer available; somebody else was faster.");
  assert.deepEqual(await rows(page), ["Otto"]);
  assert.match(await page.evaluate(() => document.activeElement.innerText), /Otto/);
});

test("a removal whose response was lost is sent again as the same one, and is not called somebody else's", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets, allowed: ["net::ERR_", "status of 404"] });
  const keys = [];
  page.on("request", (request) => request.method() === "DELETE" && keys.push(request.headers()["idempotency-key"]));
  const lose = () => page.route("**/v1/pets/*", async (route) => {
    await route.fetch();
    await route.abort("connectionreset"); // The service has done it.
  }, { times: 1 });
  await lose();
  await remove(page, 1, "Rex");
  await notice(page, "No answer");
  assert.deepEqual(await rows(page), ["Rex", "Misty", "Otto"], "nothing is known");
  await remove(page, 1, "Rex");
  await notice(page, "Animal 1 is removed: Rex");
  assert.deepEqual([keys.length, new Set(keys).size], [2, 1]);
  await lose();
  await remove(page, 2, "Misty");
  await notice(page, "No answer");
  await press(page, "Sell animal 2");
  await notice(page, "Misty was not sold: it is removed now, no longer available; your last press may have done it.");
  assert.deepEqual(await rows(page), ["Otto"]);
});

test("no answer but the service's own removes a row: 204, or 404 of the animal", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets, allowed: ["status of"] });
  for (const [status, body] of [[200, "{}"], [202, ""], [404, "<h1>Not found</h1>"], [404, '{"code":"route_not_found","message":"No."}'], [502, ""]]) {
    await page.route("**/v1/pets/1", (route) => route.fulfill({ status, body }), { times: 1 });
    await remove(page, 1, "Rex");
    await notice(page, /^(Something between|No\.)/);
    assert.deepEqual(await rows(page), ["Rex", "Misty", "Otto"], `${status} ${body}`);
  }
});

test("Remove is not for a read-only key", { skip }, async (context) => {
  const program = await startProgram(context, { pets });
  const { page } = await openConsole(context, program);
  const offered = async () => (await page.getByRole("button", { name: /^(Sell|Remove) animal 1$/ }).all()).length;
  await enterKey(page, await program.createKey("--read-only"));
  assert.equal(await offered(), 0);
  await press(page, "Forget");
  await enterKey(page, program.firstKey);
  assert.equal(await offered(), 2);
});

async function rows(page) {
  const names = await page.locator("#pets tr:visible .name").allInnerTexts();
  return names.map((name) => name.trim());
}

async function press(page, name) {
  await page.getByRole("button", { name, exact: true }).click();
}

async function remove(page, id, name) {
  await press(page, `Remove animal ${id}`);
  await press(page, `Remove ${name}`);
  await page.locator("body[aria-busy=false]").waitFor();
}

function notice(page, text) {
  return page.locator("#notice", { hasText: text }).waitFor();
}

/** As another client does it. */
async function removeElsewhere({ apiUrl, firstKey }, id) {
  const headers = { Authorization: `Bearer ${firstKey}`, "If-Match": "*" };
  assert.equal((await fetch(`${apiUrl}/pets/${id}`, { method: "DELETE", headers })).status, 204);
}

async function stored({ apiUrl, firstKey }) {
  const response = await fetch(`${apiUrl}/pets`, { headers: { Authorization: `Bearer ${firstKey}` } });
  return (await response.json()).map(({ name }) => name);
}
