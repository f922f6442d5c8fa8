import { Buffer } from 'node:buffer';

import type { Clevis, ClevisCustom, Luks, Tang } from '../types.ts';
import { pathFault } from './path.ts';
import type { Place } from './place.ts';
import { sourceFault, urlScheme } from './url.ts';

/** LUKS2 keeps 48 bytes for a label, the last one a null. */
const MAX_LABEL_BYTES = 47;

/** An encrypted device. */
export function validateLuks(luks: Luks, place: Place): void {
  const { device = '', label = '', name } = luks;
  if (name.includes('/')) place.at('name').report('luks-name-slash');
  if (Buffer.byteLength(label) > MAX_LABEL_BYTES) place.at('label').report('label-too-long');
  place.at('device').report(device === '' ? 'device-required' : pathFault(device));
  if (sourceFault(luks.keyFile?.source, place.minor) !== undefined) {
    place.at('keyFile').report('luks-key-file');
  }
  if (luks.cex?.enabled === true) validateBesideCex(luks, place.at('cex'));
}

/** The key of a CryptoExpress adapter leaves no room for another way to unlock. */
function validateBesideCex({ clevis = {}, keyFile = {} }: Luks, place: Place): void {
  if (isCustom(clevis, place.minor) || hasPins(clevis)) place.report('cex-with-clevis');
  if ((keyFile.source ?? '') !== '') place.report('cex-with-key-file');
}

/** Automatic unlocking: by a custom pin, or by the others. */
export function validateClevis(clevis: Clevis, place: Place): void {
  if (isCustom(clevis, place.minor) && hasPins(clevis)) place.report('clevis-custom-with-others');
}

/** In spec 3.2 an empty custom section counts as one. */
function isCustom({ custom }: Clevis, minor: number): boolean {
  if (minor <= 2) return custom !== undefined;
  return custom?.pin !== undefined && custom.pin !== '';
}

function hasPins({ tang = [], threshold = 0, tpm2 = false }: Clevis): boolean {
  return tang.length > 0 || tpm2 || threshold !== 0;
}

/** A clevis pin with a configuration of its own. */
export function validateClevisCustom(custom: ClevisCustom, place: Place): void {
  const { config = '', needsNetwork = false, pin = '' } = custom;
  if (pin === '' && config === '' && (!needsNetwork || place.minor <= 2)) return;
  if (pin === '') place.at('pin').report('clevis-pin-required');
  else if (!['tpm2', 'tang', 'sss'].includes(pin)) place.at('pin').report('clevis-pin-unknown');
  if (config === '') place.at('config').report('clevis-config-required');
}

/** A tang server. */
export function validateTang(
  { advertisement = '', thumbprint = '', url }: Tang,
  place: Place,
): void {
  const scheme = urlScheme(url);
  if (scheme === undefined) place.at('url').report('url-invalid');
  else if (scheme !== 'http' && scheme !== 'https') place.at('url').report('url-scheme');
  if (thumbprint === '') place.at('thumbprint').report('tang-thumbprint-required');
  if (advertisement !== '' && !isJson(advertisement)) {
    place.at('advertisement').report('tang-advertisement');
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
