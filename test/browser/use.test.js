/**
 * What a person does with the page from the first visit on, in a real browser, against the program as it is run.
 */

import assert from "node:assert/strict";
import { createServer, request as httpRequest } from "node:http";
import { after, test } from "node:test";
import { add, closeBrowser, enterKey, idle, notice, openConsole, openWithKey, press, rows, skip, startProgram } from "./console.js";

after(closeBrowser);

const between = (status) => `A server in between answered (${status}). Try again; if it goes on, tell whoever runs the service.`;
const ofApi = (requests) => requests.filter((line) => line.includes("/v1/"));

test("a newcomer gets from the printed key to the second page of the catalogue", { skip }, async (context) => {
  const program = await startProgram(context);
  const printed = /console: (\S+)$/m.exec(program.output())[1];
  assert.equal(printed, `${program.origin}/`);
  const { page, requests } = await openConsole(context, program);
  assert.deepEqual(ofApi(requests), [], "a page load takes no token");
  await enterKey(page, program.firstKey);
  await page.locator("#range", { hasText: "No animals yet." }).waitFor();
  assert.deepEqual(ofApi(requests), ["GET /v1/limits", "GET /v1/pets"]);
  await press(page, "New animal");
  await page.locator("#name").fill("Rex");
  await page.locator("#category").fill("7");
  await press(page, "Add");
  await notice(page, "Animal 1 is added: Rex");
  assert.deepEqual(await rows(page), [["1", "Rex", "7"]]);
  await program.importPets(Array.from({ length: 20 }, () => ({ name: "Misty", categoryId: 2 })));
  await press(page, "Refresh");
  await page.locator("#range", { hasText: "1–20" }).waitFor();
  await press(page, "Next");
  await page.locator("#range", { hasText: "21" }).waitFor();
  assert.deepEqual(await rows(page), [["21", "Misty", "2"]]);
  await press(page, "Back");
  await page.locator("#range", { hasText: "1–20" }).waitFor();
});

test("before a key there is nothing but its form, which says what the page is, and who has keys", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page } = await openConsole(context, program);
  assert.equal(await page.evaluate(() => document.activeElement.id), "key");
  assert.deepEqual(await page.locator("button:visible").allInnerTexts(), ["Use key"]);
  assert.match(await page.locator("#access").innerText(), /^Animal Store\s+Find, add, reserve and sell the shop’s animals\./);
  await page.getByText("Where do I get a key?").click();
  assert.match(await page.locator("details").innerText(), /From whoever runs this service\. [^]*keys create/);
  assert.equal((await page.request.get(await page.getByRole("link", { name: "OpenAPI" }).first().evaluate(({ href }) => href))).status(), 200);
  await enterKey(page, program.firstKey);
  assert.ok(await page.locator("#access").isHidden());
  assert.equal(await page.evaluate(() => document.activeElement.id), "wanted");
});

test("a hostile name is inert, and shown as what it is, in list, notice, menu, dialog and search", { skip }, async (context) => {
  const name = '<img src=x onerror="document.title=1">\u202egpj.exe\u0007\u200b';
  const { program, page, requests } = await openWithKey(context);
  await press(page, "New animal");
  await page.evaluate((text) => (document.getElementById("name").value = text), name);
  await page.locator("#category").fill("1");
  await press(page, "Add");
  await notice(page, "is added");
  const visible = '<img src=x onerror="document.title=1">U+202Egpj.exeU+0007U+200B';
  assert.equal(await page.locator("#notice").textContent(), `Animal 1 is added: ${visible} `);
  await page.getByRole("button", { name: "More for animal 1" }).click();
  assert.equal(await page.locator("#menu-pet").textContent(), `1 ${visible}`);
  await page.locator("#menu button", { hasText: "Remove" }).click();
  assert.equal(await page.locator("#question").textContent(), `Remove animal 1, ${visible}?`);
  await press(page, "Cancel");
  await page.locator("#wanted").evaluate((field, text) => (field.value = `${text}!`), name);
  await page.locator("#wanted").press("Enter");
  await page.locator("#range", { hasText: `No name contains “${visible}!”.` }).waitFor();
  await press(page, "Back to the list");
  await idle(page);
  assert.deepEqual(await rows(page), [["1", visible, "1"]]);
  assert.doesNotMatch(await page.evaluate(() => document.body.textContent), /[\u202e\u0007\u200b]/);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.title(), "Animal Store");
  assert.ok(!requests.some((line) => line.endsWith("/x")));
  const stored = await (await fetch(`${program.apiUrl}/pets`, { headers: { Authorization: `Bearer ${program.firstKey}` } })).json();
  assert.equal(stored[0].name, name, "the name is sent exactly as typed");
});

test("a held Enter is one press", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context);
  for (const [name, count] of [["Refresh", 1], ["Find", 1]]) {
    await page.getByRole("button", { name, exact: true }).focus();
    for (let repeat = 0; repeat < 5; repeat++) {
      await page.keyboard.down("Enter"); // All but the first are repetitions.
      await idle(page);
    }
    await page.keyboard.up("Enter");
    assert.equal(requests.splice(0).filter((line) => line === "GET /v1/pets").length, name === "Refresh" ? count + 1 : count, name);
  }
});

test("a mistyped key stays in its field, selected, with the reason below it, and touches no quota of a key", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page, requests } = await openConsole(context, program, { allowed: ["status of 401"] });
  const field = page.getByLabel("API key");
  const isSelected = (text) => field.evaluate((node, all) => {
    const { activeElement } = document;
    return activeElement === node && node.value === all && node.selectionStart === 0 && node.selectionEnd === all.length;
  }, text);
  for (const typed of ["", "as_", `as_${"x".repeat(42)}`, `as_${"x".repeat(44)}`]) {
    await field.fill(typed);
    await field.press("Enter");
    await page.locator("#key-says", { hasText: "keys are as_ followed by 43 letters and digits" }).waitFor();
    assert.ok(await isSelected(typed), typed);
  }
  assert.deepEqual(ofApi(requests), []);
  const unknown = `as_${"x".repeat(43)}`;
  await field.fill(unknown);
  await field.press("Enter");
  await page.locator("#key-says", { hasText: /does not know this key: it is mistyped, revoked or expired/ }).waitFor();
  assert.ok(await isSelected(unknown));
  assert.equal(await field.getAttribute("aria-invalid"), "true");
  assert.ok((await page.locator("#key-says").boundingBox()).y - (await field.boundingBox()).y < 60);
  assert.deepEqual(ofApi(requests), ["GET /v1/limits"]);
  await enterKey(page, `  Authorization: Bearer ${program.firstKey}  `);
  assert.ok(await page.locator("#desk").isVisible());
  assert.equal(await field.inputValue(), "");
});

test("a key that is revoked while it is used is asked for again, whatever is open", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets: [{ name: "Rex", categoryId: 1 }], allowed: ["status of 401"] });
  await page.route("**/v1/pets", (route) =>
    route.fulfill({ status: 401, body: '{"code":"invalid_api_key","message":"The API key is not valid.","status":401}' }),
  );
  await add(page, "Misty");
  await page.locator("#key-says", { hasText: "does not know this key" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), "key");
  assert.ok(!(await page.evaluate(() => document.body.textContent)).includes("Rex"), "another key's catalogue is gone");
});

test("a success that the service did not send is explained", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page } = await openConsole(context, program);
  const headers = { "Content-Type": "text/html", "X-RateLimit-Limit": "60" };
  await page.route("**/v1/limits", (route) => route.fulfill({ headers, body: "<h1>Please sign in</h1>" }));
  await enterKey(page, program.firstKey);
  assert.equal(await page.locator("#key-says").innerText(), between(200));
  await page.unroute("**/v1/limits");
  await press(page, "Use key"); // The key is still in its field.
  await page.locator("#range", { hasText: "No animals yet." }).waitFor();
  await page.route("**/v1/pets", (route) => route.fulfill({ status: 201, headers, body: "<h1>Please sign in</h1>" }));
  await add(page, "Rex");
  await page.locator("#animal-says", { hasText: between(201) }).waitFor();
  await page.unroute("**/v1/pets");
  await press(page, "Add");
  await notice(page, "Animal 1 is added: Rex");
});

test("below a proxy's prefix, and with a base address elsewhere, the page works", { skip }, async (context) => {
  for (const args of [[], ["--base-url", "https://api.example/shop/v1"]]) {
    const program = await startProgram(context, { args });
    const proxy = await startProxy(context, program.origin, "/tools/animals");
    await program.importPets(Array.from({ length: 21 }, () => ({ name: "Rex", categoryId: 1 })));
    for (const [origin, path] of [[program.origin, "/"], [proxy, "/tools/animals/"]]) {
      const { page, requests } = await openConsole(context, { origin }, { path });
      await enterKey(page, program.firstKey);
      await press(page, "Next");
      await page.locator("#range", { hasText: "21" }).waitFor();
      await add(page, "Misty");
      await notice(page, "is added: Misty");
      assert.ok(requests.includes(`GET ${path}v1/pets`), requests.join());
    }
  }
});

/** Passes on what is below the prefix, without the prefix. */
async function startProxy(context, target, prefix) {
  const server = createServer((incoming, outgoing) => {
    if (!incoming.url.startsWith(`${prefix}/`)) {
      outgoing.writeHead(404).end();
      return;
    }
    const options = { method: incoming.method, headers: incoming.headers };
    const onward = httpRequest(target + incoming.url.slice(prefix.length), options, (response) => {
      outgoing.writeHead(response.statusCode, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}
