/** What `--help` prints. */

import { settingTable } from "./settings.ts";

const storageFlags = `  --data FOLDER       the data folder (default: data; or ANIMAL_STORE_DATA)
  --database URL      the database, postgres://… (or ANIMAL_STORE_DATABASE), in place of the folder`;
const planFlag = "  --plan NAME         free, pro, business or enterprise";
const quotaFlags = `  --per-minute N      requests per minute; required for enterprise, not allowed for other plans
  --per-day N         requests per day; likewise`;

/** Of a command. The text is printed without line breaks around it, the flags without the one before them. */
type Help = readonly [usage: string, text: string, flags?: string];

const commandHelp: Readonly<Record<string, Help>> = {
  check: ["[FLAGS] [--salvage FOLDER]", `
Says whether the server would start with the same flags and variables: starts it up to where it would listen, with as
much memory, and keeps what it would write to the data folder in memory. Whether the hosts exist and the ports are free
is not looked at. Changes nothing, and can be run while servers are running. Exit code 0: the server would start; 1: it
would not; 2: a setting is wrong, such as the address, user or password of the database, or the client of the database
is not installed.

If a file is damaged, its line and byte are named. If a newer release wrote the line, start that one. Otherwise restore
the file from a backup. Or, with the server stopped:

  animal-store check --data DAMAGED --salvage FOLDER

writes the intact animals and changes of pets.jsonl to a new folder, in their order, wherever they are in the file, and
says what is lost. Start the server on that one. Lost animals are 404, and no other gets their ids. An animal of which a
change is lost has the status before it. What the disk cannot read is lost in pieces of 4 KiB. If two different lines
have one number, nothing is written, and the first and last line of both histories are told: cut one of them out of a
copy of the folder, and salvage that. Meanwhile FOLDER has a copy of the file. keys.jsonl and limits.json are copied if
all of them is intact: without a line of keys.jsonl, revoked keys could work again. Exit code 0: nothing is lost; 1:
something is, or nothing could be written.
`],
  export: ["FOLDER [--data FOLDER | --database URL]", `
Writes the catalogue, the keys and the limits, as they are now, as a new data folder. The folder is made if it is
missing, and must not have these files. An animal is one line in it, whatever was changed, so the file is short, and a
start quick: stop the server, export, and start it on the new folder. Beside a server it is a backup: what is confirmed
from now on is not in it. Idempotency keys of the last 24 hours are kept, and the next id.
`],
  import: [`FILE [--data FOLDER | --database URL]
       animal-store import FOLDER --database URL`, `
Adds the animals of FILE, one JSON object a line, each as in the body of POST /pets. Blank lines are skipped. As FILE, -
is standard input. It is kept meanwhile, as a named pipe is, in the folder for temporary files, or else in the data
folder. All of it is validated before the first animal is added. A server that is running on the data folder goes on
serving, and adds the animals. If it restarts, the import waits up to 15 s for it, and goes on. An import that a signal
or a full disk ends says which lines were added, and how to go on.

With --database, a pets.jsonl is moved into an empty catalogue, and a data folder with its keys and limits into an empty
database: ids are kept, and all is moved or nothing.
`],
  keys: ["COMMAND [FLAGS]", `
A change is on disk and in effect when the command ends, also in a server that is running on the data folder. With a
database, all servers apply it within a second. "animal-store keys COMMAND --help" says more.
`, `
  create              makes a key and prints it
  list                prints a line for each key
  show ID             prints all that list knows of one key
  revoke ID           ends a key for good
  plan ID             changes a key's plan
  label ID LABEL      changes a key's label
  expire ID DATE      changes when a key stops working
  rotate ID           gives a key a new secret and prints it
  unban ID            lifts a key's ban
  reset ID            gives a key all its requests back

`],
  "keys create": ["[FLAGS]", `
Makes a key and prints it, alone, on standard output. The key is printed once: only its SHA-256 is kept.
`, `
${planFlag} (default: free)
${quotaFlags}
  --label TEXT        at most 64 printable characters, shown by keys list
  --expires ISO-DATE  when it stops working: 2030-01-31 (its first instant in UTC) or 2030-01-31T12:00:00Z
  --read-only         it may list and fetch animals, but not add any
`],
  "keys list": ["[FLAGS]", `
Prints a line for each key: id, state (active, banned, expired or revoked), plan, access (full or read-only), requests
used of the minute and of the day, end of a ban, last request (kept for a day), creation, expiry, label.
`, `
  --json              prints a JSON object for each key instead, for programs
`],
  "keys show": ["ID [FLAGS]", `
Prints what keys list shows of one key, a line for each, and after a rotation until when older keys work.
`, `
  --json              prints the object that keys list --json prints of it
`],
  "keys revoke": ["ID [FLAGS]", "Ends a key for good."],
  "keys plan": ["ID --plan NAME [FLAGS]", `
Changes a key's plan. Requests already counted in the open windows stay counted, and a ban stays.
`, `
${planFlag}
${quotaFlags}
`],
  "keys label": ["ID LABEL [FLAGS]", `
Changes a key's label: at most 64 printable characters. An empty one, '', takes it off.
`],
  "keys expire": ["ID DATE|never [FLAGS]", `
Changes when a key stops working: 2030-01-31 (its first instant in UTC), 2030-01-31T12:00:00Z, or never. The date must
be in the future. A key that has expired works again.
`],
  "keys rotate": ["ID [FLAGS]", `
Prints a new secret, alone, on standard output. The key keeps its id, plan, counters and bans.
`, `
  --grace SECONDS     how long the old secrets still work, at most a year (default: 0); never longer than an earlier
                      rotation said
`],
  "keys unban": ["ID [FLAGS]", "Lifts a key's ban. The next one within 24 hours still lasts twice as long."],
  "keys reset": ["ID [FLAGS]", `
Makes the minute and the day full again, lifts a ban, and makes the next ban as short as a first one.
`],
};

/** @param args the command line; its first words choose the text */
export function helpText(args: readonly string[]): string {
  const [command = "", subcommand = ""] = args;
  const name = [`${command} ${subcommand}`, command].find((one) => Object.hasOwn(commandHelp, one));
  if (name === undefined) {
    return programHelp();
  }
  const [usage, text, flags = ""] = commandHelp[name]!;
  return `Usage: animal-store ${name} ${usage}\n\n${text.trim()}\n\n${flags.slice(1)}${storageFlags}\n`;
}

function programHelp(): string {
  const settings = Object.entries(settingTable).map(([flag, { variable, placeholder, fallback, meaning }]) => {
    const usage = `--${flag} ${placeholder}`.padEnd(25);
    const byDefault = fallback === undefined ? "" : ` (default: ${fallback})`;
    return `  ${usage} ${meaning}${byDefault}\n${" ".repeat(28)}or ${variable}\n`;
  });
  return `Usage: animal-store [FLAGS]                serves
       animal-store keys COMMAND [FLAGS]   makes, lists, changes and revokes API keys
       animal-store import FILE [FLAGS]    adds the animals of a JSON-lines file, or moves a data folder to a database
       animal-store export FOLDER [FLAGS]  writes a short data folder, from a long one or a database
       animal-store check [FLAGS]          says whether the server would start with the same flags, or salvages a folder

${settings.join("")}
  --help, --version         also after each command
`;
}
