/**
 * What the tests of the console share: the program as built, with a folder of its own on a free port, and pages of a
 * real browser that note everything a well-behaved page never does.
 */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { run, start } from "../../build/test/support/program.js";

export const here = dirname(fileURLToPath(import.meta.url));
const executablePath = "/usr/bin/chromium";

export const skip = existsSync(executablePath) ? false : "Chromium is not installed (Debian: chromium, fonts-dejavu-core)";

export const launchOptions = {
  executablePath,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

/** One browser for all tests of a file; each test has a context of its own. */
let browser;

export async function closeBrowser() {
  await browser?.close();
}

/**
 * Starts the program as the README does, adds the animals, and stops it after the test. `firstKey` is the key that it
 * printed.
 */
export async function startProgram(context, { args = [], pets = [] } = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), "animal-store-browser-"));
  const program = await start(undefined, ["--data", dataDir, "--log", "requests", ...args]);
  context.after(async () => {
    await program.stop();
    await rm(dataDir, { recursive: true });
  });
  for (const pet of pets) {
    const headers = { Authorization: `Bearer ${program.firstKey}`, "Content-Type": "application/json" };
    const body = typeof pet === "string" ? pet : JSON.stringify(pet);
    assert.equal((await fetch(`${program.url}/pets`, { method: "POST", headers, body })).status, 201);
  }
  return {
    ...program,
    apiUrl: program.url,
    dataDir,
    output: () => Object.values(program.output()).join(""),
    /** Makes a key by the program's own command. */
    createKey: async (...flags) => (await run(["keys", "create", "--data", dataDir, ...flags])).stdout.trim(),
    /** Adds animals by the program's own command, which takes nothing of a key's quota. */
    importPets: async (all) => {
      const file = join(dataDir, "import.jsonl");
      await writeFile(file, all.map((pet) => `${JSON.stringify(pet)}\n`).join(""));
      assert.equal((await run(["import", file, "--data", dataDir])).code, 0);
    },
    /** Changes the first key, as "reset" or "plan". */
    changeKey: async (command, ...flags) => {
      const { id } = JSON.parse((await run(["keys", "list", "--json", "--data", dataDir])).stdout.split("\n")[0]);
      await run(["keys", command, id, "--data", dataDir, ...flags]);
    },
  };
}

/**
 * Opens the console in a context of its own. After the test the page must have been silent: no line in the browser's
 * console, no violation of the policy, no error, no request to another origin.
 */
export async function openConsole(context, { origin }, { path = "/", allowed = [], clock, ...options } = {}) {
  const { browserContext, page } = await newPage(options);
  const watch = watchPage(page, origin, allowed);
  if (clock !== undefined) {
    await page.clock.install({ time: clock });
  }
  await page.goto(`${origin}${path}`);
  context.after(async () => {
    await browserContext.close();
    assert.deepEqual(watch.faults, []);
  });
  return { page, ...watch };
}

/** Opens any page in a context of its own, until the end of the test. */
export async function openPage(context, address) {
  const { browserContext, page } = await newPage({});
  context.after(() => browserContext.close());
  await page.goto(address);
  return page;
}

async function newPage(options) {
  browser ??= await chromium.launch(launchOptions);
  const browserContext = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await browserContext.newPage();
  page.setDefaultTimeout(10_000);
  return { browserContext, page };
}

/** Starts the program and opens its console with the first key in use. Options but `pets` are those of `openConsole`. */
export async function openWithKey(context, { pets, ...options } = {}) {
  const program = await startProgram(context, { pets });
  const opened = await openConsole(context, program, options);
  await enterKey(opened.page, program.firstKey);
  return { program, ...opened };
}

/** Fills the dialog of a new animal and presses Add. */
export async function add(page, name, category = "1") {
  await page.getByRole("button", { name: "New animal" }).click();
  await page.locator("#name").fill(name);
  await page.locator("#category").fill(category);
  await page.getByRole("button", { name: "Add", exact: true }).click();
}

/** Chooses a status of the list as a mouse does. */
export async function choose(page, name) {
  await page.locator("#filter label", { hasText: name }).click();
}

/** Presses what is in the menu of an animal. */
export async function pressInMenu(page, id, name) {
  await page.getByRole("button", { name: `More for animal ${id}`, exact: true }).click();
  await page.locator("#menu").getByRole("button", { name, exact: true }).click();
}

/** Types it where numbers and names are searched for, and waits for what is found. */
export async function find(page, text) {
  await page.locator("#wanted").fill(text);
  await page.locator("#wanted").press("Enter");
  await idle(page);
}

/** Until no request is under way. */
export async function idle(page) {
  await page.locator("body[aria-busy=false]").waitFor();
}

/** As another till does it. */
async function send({ apiUrl, firstKey }, method, id, members) {
  const headers = { Authorization: `Bearer ${firstKey}`, "If-Match": "*", "Content-Type": "application/json" };
  const response = await fetch(`${apiUrl}/pets/${id}`, { method, headers, body: members && JSON.stringify(members) });
  assert.ok(response.ok, `${response.status}`);
}

export function change(program, id, members) {
  return send(program, "PATCH", id, members);
}

export function changeStatus(program, id, status) {
  return change(program, id, { status });
}

export function removeElsewhere(program, id) {
  return send(program, "DELETE", id);
}

/** The service does what the next request on one animal asks for, and its response is lost. */
export function loseResponse(page, path = "**/v1/pets/*") {
  return page.route(path, async (route) => {
    await route.fetch();
    await route.abort("connectionreset");
  }, { times: 1 });
}

export async function press(page, name) {
  await page.getByRole("button", { name, exact: true }).click();
}

/** Until the page says so, where nothing but the list is open. */
export function notice(page, text) {
  return page.locator("#notice", { hasText: text }).waitFor();
}

export function statuses(page) {
  return page.locator("#pets li:visible .pill").allInnerTexts();
}

/** Number, name and category of each row. */
export function rows(page) {
  return page.locator("#pets li:visible").evaluateAll((all) => all.map((row) =>
    [".number", "strong bdi", ".category bdi"].map((part) => row.querySelector(part).innerText.trim())));
}

/** @param allowed texts of console lines that the test itself provokes */
export function watchPage(page, origin, allowed = []) {
  const faults = [];
  const requests = [];
  page.on("console", (message) => {
    if (!allowed.some((text) => message.text().includes(text))) {
      faults.push(`console: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("request", (request) => {
    requests.push(`${request.method()} ${new URL(request.url()).pathname}`);
    if (new URL(request.url()).origin !== origin) {
      faults.push(`foreign request: ${request.url()}`);
    }
  });
  return { faults, requests };
}

/** Types the key as a person pastes it, and waits until it is used, with all that it asks for, or refused. */
export async function enterKey(page, key) {
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Use key" }).click();
  await page.locator("body[aria-busy=false]:has(:is(#access[hidden], #key-says:is(.bad, .wait)))").waitFor();
}
