import type { Log } from "../../history/log.ts";
import type { Tenant } from "../../turn/tenant.ts";

/** Encrypts texts that clients store for the gateway, and decrypts them for the same tenant. */
export type SealBox = {
  seal(tenant: Tenant, text: string): Promise<string>;
  /** Undefined for a changed text, one of another tenant and one that was sealed with the key of another store. */
  open(tenant: Tenant, sealed: string): Promise<string | undefined>;
};

/** The first characters of a gateway's seals. Providers make and open other seals. */
const MARK = "pbs1.";
const ALGORITHM = "AES-GCM";
const IV_BYTES = 12;
const KEY_BYTES = 32;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** True for a text that any gateway has sealed. */
export const isSealed = (text: string): boolean => text.startsWith(MARK);

/**
 * The store holds the key, so all replicas on it can open each other's seals, also after a
 * restart. The encryption authenticates the tenant, so no other tenant can use a seal.
 */
export function sealBox(store: Pick<Log, "secret">): SealBox {
  let key: Promise<CryptoKey> | undefined;
  const keyOf = (): Promise<CryptoKey> => {
    key ??= loadKey(store).catch((error: unknown) => {
      key = undefined; // The next call asks the store again.
      throw error;
    });
    return key;
  };
  const algorithm = (tenant: Tenant, iv: Uint8Array<ArrayBuffer>) => ({
    name: ALGORITHM,
    iv,
    additionalData: encoder.encode(tenant),
  });
  return {
    async seal(tenant, text) {
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const bytes = encoder.encode(text);
      const sealed = await crypto.subtle.encrypt(algorithm(tenant, iv), await keyOf(), bytes);
      return `${MARK}${toBase64([iv, new Uint8Array(sealed)])}`;
    },
    async open(tenant, text) {
      const bytes = isSealed(text) ? fromBase64(text.slice(MARK.length)) : undefined;
      if (bytes === undefined || bytes.length < IV_BYTES) return undefined;
      const own = await keyOf();
      const [iv, sealed] = [bytes.slice(0, IV_BYTES), bytes.slice(IV_BYTES)];
      try {
        return decoder.decode(await crypto.subtle.decrypt(algorithm(tenant, iv), own, sealed));
      } catch {
        return undefined; // The API reports no cause.
      }
    },
  };
}

async function loadKey(store: Pick<Log, "secret">): Promise<CryptoKey> {
  const made = toBase64([crypto.getRandomValues(new Uint8Array(KEY_BYTES))]);
  const bytes = fromBase64(await store.secret("seal", made));
  return crypto.subtle.importKey("raw", bytes ?? new Uint8Array(), ALGORITHM, false, [
    "encrypt",
    "decrypt",
  ]);
}

function toBase64(pieces: readonly Uint8Array[]): string {
  let binary = "";
  for (const piece of pieces) for (const byte of piece) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return undefined; // It is not base64, so no gateway sealed it.
  }
}
