import { canonicalAddress } from '../../lib/address.ts';

/**
 * An address as the inventory service writes it, with or without a prefix length, in its one
 * spelling. Undefined for what is no address, and for one with a zone: that is no address that
 * another machine could use.
 */
export function inventoryAddress(text: string): string | undefined {
  const [bare = '', length] = text.split('/');
  if (length !== undefined && !/^\d{1,3}$/.test(length)) return undefined;
  return bare.includes('%') ? undefined : canonicalAddress(bare);
}
