/**
 * CRC-32 as in gzip and PNG (RFC 1952, section 8: reflected polynomial 0xEDB88320), sixteen bytes a step, read as words
 * of four: 37 ns for a line of 85 bytes, where eight bytes a step, read one by one, took 90.
 *
 * `zlib.crc32` is no faster here: it takes an array, and making one for each line costs more than the sum itself
 * (140 ns). Besides, Node 20.15 is the first to have it.
 */

const stepBytes = 16;

/** At `256 * k + byte`: what a byte adds to the sum when k more bytes follow it in the same step. */
const table: Int32Array = makeTable();

/** The checksum of the bytes `[start, end)`, as an unsigned 32-bit integer. */
export function crc32(bytes: DataView, start: number, end: number): number {
  let crc = -1;
  let at = start;
  for (; at <= end - stepBytes; at += stepBytes) {
    crc =
      ofWord(crc ^ bytes.getInt32(at, true), 3_072) ^
      ofWord(bytes.getInt32(at + 4, true), 2_048) ^
      ofWord(bytes.getInt32(at + 8, true), 1_024) ^
      ofWord(bytes.getInt32(at + 12, true), 0);
  }
  for (; at <= end - 4; at += 4) {
    crc = ofWord(crc ^ bytes.getInt32(at, true), 0);
  }
  for (; at < end; at++) {
    crc = (crc >>> 8) ^ table[(crc ^ bytes.getUint8(at)) & 255]!;
  }
  return ~crc >>> 0;
}

/** What four bytes add; `row` is 256 times the bytes that follow them in the step. Every index is within the table. */
function ofWord(word: number, row: number): number {
  return (
    table[row + 768 + (word & 255)]! ^
    table[row + 512 + ((word >>> 8) & 255)]! ^
    table[row + 256 + ((word >>> 16) & 255)]! ^
    table[row + (word >>> 24)]!
  );
}

function makeTable(): Int32Array {
  const made = new Int32Array(stepBytes * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    made[byte] = crc;
  }
  for (let at = 256; at < made.length; at++) {
    const crc = made[at - 256]!; // One byte fewer follows.
    made[at] = (crc >>> 8) ^ made[crc & 255]!;
  }
  return made;
}
