const LABEL = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const DNS_1123_LABEL = new RegExp(`^${LABEL}$`);
const DNS_1035_LABEL = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const LABEL_LIMIT = 63;
const SUBDOMAIN_LIMIT = 253;

/** A name of an object (RFC 1123 subdomain). */
export const isSubdomain = (text: string): boolean =>
  text.length <= SUBDOMAIN_LIMIT && SUBDOMAIN.test(text);

/** A name of a namespace (RFC 1123 label). */
export const isDns1123Label = (text: string): boolean =>
  text.length <= LABEL_LIMIT && DNS_1123_LABEL.test(text);

/** A name of a resource (RFC 1035 label). */
export const isDns1035Label = (text: string): boolean =>
  text.length <= LABEL_LIMIT && DNS_1035_LABEL.test(text);

/** A value of a label of an object. */
export const isLabelValue = (text: string): boolean =>
  text === '' || (text.length <= LABEL_LIMIT && /^[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/.test(text));

const DATE_TIME =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)t(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)$/i;

/** A point in time as RFC 3339 writes it, without leap seconds. */
export function isDateTime(text: string): boolean {
  const groups = DATE_TIME.exec(text)?.groups;
  if (groups === undefined) return false;
  const part = (name: string): number => Number(groups[name]);
  const lastDay = new Date(Date.UTC(part('year'), part('month'), 0)).getUTCDate();
  return (
    part('month') >= 1 &&
    part('month') <= 12 &&
    part('day') >= 1 &&
    part('day') <= lastDay &&
    part('hour') < 24 &&
    part('minute') < 60 &&
    part('second') < 60
  );
}
