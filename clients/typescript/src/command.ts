/**
 * Command ids: what makes a write that is sent again the same write.
 *
 * Owns their form, a UUID of version 7.
 */

// Node has it among its globals from version 19 on.
const chance = globalThis.crypto ?? (await import("node:crypto")).webcrypto;

/** A new command id: the time, and chance. */
export function newCommandId(): string {
  const bytes = chance.getRandomValues(new Uint8Array(16));
  const view = new DataView(bytes.buffer);
  const now = Date.now();
  view.setUint32(0, Math.floor(now / 0x1_0000));
  view.setUint16(4, now % 0x1_0000);
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x70);
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
