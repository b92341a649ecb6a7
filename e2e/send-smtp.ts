/** Hands a message to an SMTP server as any other server does, and answers what it was answered. */
import { createRawClient, type RawClient } from '@postrider/testkit'

export interface SmtpLetter {
  readonly from: string
  readonly to: readonly string[]
  /** With CRLF line ends. */
  readonly raw: string
}

/** Greeted, and having greeted. */
export async function openSmtp(port: number, from?: string): Promise<RawClient> {
  const client = createRawClient(port, '127.0.0.1', from)
  await client.see(/^220 .*\r\n/)
  await client.ask('EHLO client.test')
  return client
}

/** The replies to each RCPT, and to the final dot where one was accepted. Throws when it is lost. */
export async function sendSmtp(
  client: RawClient,
  { from, to, raw }: SmtpLetter,
): Promise<{ readonly recipients: readonly string[]; readonly message: string | undefined }> {
  await client.ask(`MAIL FROM:<${from}>`)
  const recipients: string[] = []
  for (const one of to) recipients.push(await client.ask(`RCPT TO:<${one}>`))
  if (!recipients.some((reply) => reply.startsWith('250'))) {
    await client.ask('RSET')
    return { recipients, message: undefined }
  }
  await client.ask('DATA')
  const stuffed = raw.replace(/^\./gm, '..')
  return {
    recipients,
    message: await client.ask(`${stuffed}${raw.endsWith('\r\n') ? '' : '\r\n'}.`),
  }
}

/** On a connection of its own. */
export async function sendSmtpTo(port: number, letter: SmtpLetter) {
  const client = await openSmtp(port)
  try {
    return await sendSmtp(client, letter)
  } finally {
    client.close()
  }
}
