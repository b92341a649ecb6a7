/** End-of-data sequences that some server somewhere takes for one and another does not. */
export const smugglers = [
  '\n.\n',
  '\n.\r\n',
  '\r\n.\n',
  '\r.\r',
  '\r.\r\n',
  '\r\n.\r',
  '\r.\n',
  '\n.\r',
  '\n\n.\r\n',
  '\r\n\0.\r\n',
  '\r\n.\0\r\n',
  '\r\n.\r\0\n',
  '\r\r\n.\r\n',
  '\r\n.\r\r\n',
] as const

/** What would follow: another message, by somebody else. */
export const smuggled =
  'MAIL FROM:<evil@example.com>\r\nRCPT TO:<ada@recipient.test>\r\nDATA\r\nSubject: two\r\n\r\nsmuggled-marker\r\n'
