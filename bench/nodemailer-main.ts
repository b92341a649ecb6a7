/** Nodemailer's own pool, as a program would use it: 16 connections, each message built by it. */
import { createTransport } from 'nodemailer'
import { serveParent } from './worker.ts'

export interface MailOrder {
  readonly port: number
  readonly connections: number
  readonly count: number
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** Builds the message once instead of for every mail: for feeding another mail server. */
  readonly prebuilt?: boolean
  /** Of a server that asks for a login. */
  readonly password?: string
}

async function send(order: MailOrder): Promise<{ elapsedMs: number }> {
  const transport = createTransport({
    host: '127.0.0.1',
    port: order.port,
    pool: true,
    maxConnections: order.connections,
    maxMessages: Number.POSITIVE_INFINITY,
    secure: false,
    ignoreTLS: true,
    ...(order.password === undefined ? {} : { auth: { user: 'bench', pass: order.password } }),
  })
  const { from, to, subject, text, html } = order
  const raw = [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${subject}`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/alternative; boundary=part',
    '',
    '--part',
    'Content-Type: text/plain; charset=utf-8',
    '',
    text,
    '--part',
    'Content-Type: text/html; charset=utf-8',
    '',
    html,
    '--part--',
    '',
  ].join('\r\n')
  const startedAt = performance.now()
  let left = order.count
  const sendNext = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      await transport.sendMail(
        order.prebuilt ? { envelope: { from, to }, raw } : { from, to, subject, text, html },
      )
    }
  }
  await Promise.all(Array.from({ length: order.connections * 2 }, sendNext))
  const elapsedMs = performance.now() - startedAt
  transport.close()
  return { elapsedMs }
}

serveParent({ send })
