/**
 * The two shapes of an error of the inventory service (assisted-service swagger, `error` and
 * `infra_error`): the domain gives `reason` with a code in text, the framework `message` with a
 * number. Errors of downloads have these in a body of type application/octet-stream.
 */
interface ServiceError {
  readonly reason?: unknown;
  readonly message?: unknown;
}

/** What the service says is wrong, in its own words; short, and never a page of HTML. */
export function wordsOfServiceError(body: string): string {
  const { reason, message } = parsed(body);
  if (typeof reason === 'string') return reason;
  if (typeof message === 'string') return message;
  if (/<(?:!doctype|html|head|body)\b/i.test(body)) return pageTitle(body);
  return body.trim().split('\n')[0]?.slice(0, 200) ?? '';
}

function pageTitle(page: string): string {
  const title = /<title>([^<]*)<\/title>/i.exec(page)?.[1]?.trim() ?? '';
  return title === '' ? 'a page of HTML' : `a page of HTML, "${title.slice(0, 100)}"`;
}

function parsed(body: string): ServiceError {
  try {
    return (JSON.parse(body) ?? {}) as ServiceError;
  } catch {
    return {};
  }
}
