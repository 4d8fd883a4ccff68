/**
 * The buttons of a row and its menu: reserve, sell, unreserve and correct an animal, so that two people never do so with
 * the same one.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { change, changeStatus, closeBrowser, idle, loseResponse, notice, openWithKey, press, pressInMenu, skip, statuses } from "./console.js";

after(closeBrowser);

const pets = ["Rex", "Misty"].map((name) => `{"name":"${name}","categoryId":9007199254740993}`);
const faster = "Somebody else was faster: ";

test("a row's animal is reserved, unreserved, sold and made available, if it still is what the row shows", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { pets });
  const act = {
    "Make available": () => pressInMenu(page, 2, "Make available"),
  };
  assert.deepEqual(await offered(page, 2), ["Reserve animal 2", "Sell animal 2", "More for animal 2"]);
  for (const [name, from, to, done, offers] of [
    ["Reserve", "available", "pending", "reserved", ["Unreserve", "Sell"]],
    ["Unreserve", "pending-2", "available", "available", ["Reserve", "Sell"]],
    ["Reserve", "available-3", "pending", "reserved", ["Unreserve", "Sell"]],
    ["Sell", "pending-4", "sold", "sold", []],
    ["Make available", "sold-5", "available", "available", ["Reserve", "Sell"]],
    ["Sell", "available-6", "sold", "sold", []],
  ]) {
    const [request] = await Promise.all([page.waitForRequest("**/v1/pets/2"), act[name]?.() ?? press(page, `${name} animal 2`)]);
    await notice(page, `Animal 2 is ${done}: Misty`);
    const fields = request.headers();
    assert.deepEqual([request.method(), fields["if-match"], request.postData()], ["PATCH", `"${from}"`, `{"status":"${to}"}`]);
    assert.match(fields["idempotency-key"], /^"[\w-]+"$/);
    assert.deepEqual(await statuses(page), ["available", to]);
    assert.deepEqual(await offered(page, 2), [...offers, "More for"].map((offer) => `${offer} animal 2`));
    const stored = await (await fetch(`${program.apiUrl}/pets?after=1`, { headers: bearer(program) })).text();
    assert.equal(stored, `[{"id":2,"name":"Misty","categoryId":9007199254740993,"status":"${to}"}]`);
  }
});

test("the two buttons of a status stand in the same places, whatever it is", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets });
  const places = () => page.locator("#pets li:nth-child(1) .actions button").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
  const before = await places();
  await press(page, "Reserve animal 1");
  await notice(page, "is reserved");
  assert.deepEqual(await places(), before);
});

test("who comes too late is told in plain words, and the row shows what the animal is now", { skip }, async (context) => {
  const { program, page, requests } = await openWithKey(context, { pets, allowed: ["status of 412"] });
  await change(program, 1, { status: "sold", name: "Rexy" });
  const before = requests.length;
  await press(page, "Reserve animal 1");
  await notice(page, `${faster}Rex is already sold.`);
  assert.deepEqual(await statuses(page), ["sold", "available"]);
  assert.deepEqual(await offered(page, 1), ["More for animal 1"]);
  assert.equal(await page.locator("#pets strong").first().innerText(), "Rexy");
  assert.deepEqual(requests.slice(before), ["PATCH /v1/pets/1", "GET /v1/pets/1"]);
});

test("who has reserved an animal sells that reservation, and none that somebody else has made since", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { pets, allowed: ["status of 412"] });
  await press(page, "Reserve animal 1");
  await notice(page, "is reserved");
  await changeStatus(program, 1, "available");
  await changeStatus(program, 1, "pending");
  await press(page, "Sell animal 1");
  await notice(page, `${faster}Rex has changed meanwhile, and is shown as it is now.`);
  assert.deepEqual(await statuses(page), ["pending", "available"]);
  await press(page, "Sell animal 1");
  await notice(page, "Animal 1 is sold: Rex");
});

test("a tag that a proxy has weakened, or marked as compressed, is known again", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets });
  for (const [index, change] of [(tag) => `W/${tag}`, (tag) => tag.replace(/"$/, '-gzip"')].entries()) {
    await page.route("**/v1/pets/*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), etag: change(response.headers().etag) } });
    });
    await press(page, `Reserve animal ${index + 1}`);
    await notice(page, "is reserved");
    await press(page, `Sell animal ${index + 1}`);
    await notice(page, "is sold");
  }
});

test("Undo takes back the change that it follows, and nothing that was done since, hours later too", { skip }, async (context) => {
  const all = ["available", "pending", "sold"];
  const { program, page } = await openWithKey(context, { pets: all.map((status) => ({ name: "Rex", categoryId: 1, status })), allowed: ["status of 412"] });
  for (const [id, name, before, after] of [[1, "Reserve", 0, 1], [1, "Sell", 0, 2], [2, "Sell", 1, 2], [2, "Unreserve", 1, 0], [3, "Make available", 2, 0]]) {
    await (id === 3 ? pressInMenu(page, 3, name) : press(page, `${name} animal ${id}`));
    await page.locator(`#pets li:nth-child(${id}) .pill`, { hasText: all[after] }).waitFor();
    for (const [from, to] of [[after, before], [before, after], [after, before]]) { // It can be undone itself.
      const [request] = await Promise.all([page.waitForRequest(`**/v1/pets/${id}`), press(page, "Undo")]);
      await page.locator(`#pets li:nth-child(${id}) .pill`, { hasText: all[to] }).waitFor();
      await idle(page);
      assert.match(request.headers()["if-match"], new RegExp(`^"${all[from]}-\\d+"$`));
      assert.equal(await page.evaluate(() => document.activeElement.dataset.id), `${id}`);
    }
  }
  await press(page, "Sell animal 1");
  await notice(page, "Animal 1 is sold: Rex");
  await changeStatus(program, 1, "available");
  await changeStatus(program, 1, "sold"); // To somebody else.
  await press(page, "Undo");
  await notice(page, `${faster}Rex has changed meanwhile, and is shown as it is now.`);
  assert.deepEqual(await statuses(page), ["sold", "pending", "sold"]);
});

test("a change whose response was lost is sent again as the same one, and the row shows what the animal is", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { pets, allowed: ["net::ERR_"] });
  const sent = [];
  page.on("request", (request) => request.method() === "PATCH" && sent.push(request.headers()["idempotency-key"]));
  await loseResponse(page);
  await press(page, "Reserve animal 1");
  await notice(page, "No answer");
  assert.deepEqual(await statuses(page), ["available", "available"], "nothing is known");
  await press(page, "Reserve animal 1");
  await notice(page, "Animal 1 is reserved: Rex Undo");
  assert.deepEqual([sent.length, new Set(sent).size], [2, 1]);
  await loseResponse(page);
  await press(page, "Sell animal 1");
  await notice(page, "No answer");
  await changeStatus(program, 1, "available");
  await press(page, "Sell animal 1");
  await notice(page, "Animal 1 is available now: Rex");
  assert.deepEqual([await statuses(page), await page.locator("#notice button").count()], [["available", "available"], 0]);
});

test("where it is not answered what an animal is now, the press is not done, and sends the same request once more", { skip }, async (context) => {
  const { program, page, requests } = await openWithKey(context, { pets, allowed: ["net::ERR_", "status of 412"] });
  await changeStatus(program, 2, "sold");
  await loseResponse(page);
  await press(page, "Reserve animal 1");
  await notice(page, "No answer");
  for (const [id, text] of [[1, "Animal 1 is reserved: Rex Undo"], [2, `${faster}Misty is already sold.`]]) {
    const before = requests.length;
    const only = (method) => (route) => (route.request().method() === method ? route.abort() : route.fallback());
    await page.route("**/v1/pets/*", only("GET"));
    await press(page, `Reserve animal ${id}`);
    await notice(page, "No answer");
    await page.unroute("**/v1/pets/*");
    await press(page, `Reserve animal ${id}`);
    await notice(page, text);
    assert.deepEqual(requests.slice(before), ["PATCH", "GET", "PATCH", "GET"].map((method) => `${method} /v1/pets/${id}`));
  }
  assert.deepEqual(await statuses(page), ["pending", "sold"]);
});

test("the own lost change is not called somebody else's", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { pets, allowed: ["net::ERR_", "status of 412"] });
  for (const [id, elsewhere, text] of [
    [1, undefined, "Your last press may have done it: Rex is already reserved."],
    [2, "sold", `${faster}Misty is already sold.`],
  ]) {
    await loseResponse(page);
    await press(page, `Reserve animal ${id}`);
    await notice(page, "No answer");
    if (elsewhere !== undefined) {
      await changeStatus(program, id, elsewhere);
    }
    await press(page, `Sell animal ${id}`);
    await notice(page, text);
  }
});

test("a double click changes once, and so does a second Enter: no other button takes the place of the pressed one", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { pets });
  await page.getByRole("button", { name: "Reserve animal 1" }).dblclick({ delay: 150 }); // The first click is answered by then.
  await notice(page, "Animal 1 is reserved");
  await page.getByRole("button", { name: "Reserve animal 2" }).focus();
  for (let count = 0; count < 2; count++) {
    await page.keyboard.press("Enter");
    await notice(page, "Animal 2 is reserved: Misty");
    await idle(page);
  }
  assert.deepEqual(await statuses(page), ["pending", "pending"]);
  assert.equal(requests.filter((line) => line.startsWith("PATCH")).length, 2);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.id), "2", "its row has the focus");
});

test("Enter twice at the menu's button changes nothing, and Escape gives it the focus back", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { pets: [{ name: "Rex", categoryId: 1, status: "sold" }] });
  const before = requests.length;
  await page.getByRole("button", { name: "More for animal 1" }).focus();
  await page.keyboard.press("Enter");
  const menu = page.getByRole("group", { name: "1 Rex" });
  await menu.waitFor();
  await page.keyboard.press("Enter");
  assert.ok(await menu.isVisible());
  assert.equal(requests.length, before);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Make available");
  await page.keyboard.press("Escape");
  assert.ok(await menu.isHidden());
  assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "More for animal 1");
});

function bearer({ firstKey }) {
  return { Authorization: `Bearer ${firstKey}` };
}

/** The names of the buttons that the row of an animal offers. */
function offered(page, id) {
  return page.locator(`[data-id="${id}"] button`).evaluateAll((all) => all.map((button) => button.ariaLabel));
}
