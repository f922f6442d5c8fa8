/** A file that is sent as a form, as a browser would. */
export interface Upload {
  /** Name of the form field. */
  readonly field: string;
  readonly filename: string;
  readonly contentType: string;
  readonly content: Uint8Array;
}

/** A body that can be sent again, with the value of its Content-Type header. */
export interface MultipartBody {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/**
 * A form with one file (RFC 7578). It is held in memory, so that it can be sent once more. The
 * boundary must not occur in the content; a UUID does not.
 */
export function multipartOf(upload: Upload, boundary: string): MultipartBody {
  const head = [
    `--${boundary}`,
    `Content-Disposition: form-data; name="${upload.field}"; filename="${upload.filename}"`,
    `Content-Type: ${upload.contentType}`,
    '',
    '',
  ].join('\r\n');
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: Buffer.concat([
      Buffer.from(head),
      upload.content,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
  };
}
