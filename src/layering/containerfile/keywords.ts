/** The instructions that a builder knows. */
export const keywords: readonly string[] = [
  ...['ADD', 'ARG', 'CMD', 'COPY', 'ENTRYPOINT', 'ENV', 'EXPOSE', 'FROM', 'HEALTHCHECK', 'LABEL'],
  ...['MAINTAINER', 'ONBUILD', 'RUN', 'SHELL', 'STOPSIGNAL', 'USER', 'VOLUME', 'WORKDIR'],
];

/** Whether a word is an instruction, in whichever case. */
export const isKeyword = (word: string): boolean => keywords.includes(word.toUpperCase());
