/** What tests of submission share: a service with both ports, and tenants with a mailer each. */

import { connect } from 'node:tls'
import {
  createRawClient,
  findFreePort,
  type RawClient,
  type SmtpServer,
  type SmtpServerOptions,
  toRawClient,
} from '@postrider/testkit'
import { certificate, createWorld, type Tenant, type World } from './world.ts'

export const FROM = 'news@sender.test'

export interface SubmissionWorld extends World {
  readonly port: number
  readonly tlsPort: number
}

export interface SubmissionScene extends Tenant {
  readonly smtp: SmtpServer
  readonly mailerId: string
}

export async function createSubmissionWorld(
  env: Readonly<Record<string, string>> = {},
  processEnv: Readonly<Record<string, string>> = {},
): Promise<SubmissionWorld> {
  const [port, tlsPort] = await Promise.all([findFreePort(), findFreePort()])
  const ports = { SUBMISSION_PORT: String(port), SUBMISSION_TLS_PORT: String(tlsPort) }
  return { ...createWorld({ ...ports, ...env }, processEnv), port, tlsPort }
}

/** A tenant whose mail from news@sender.test goes to a server of its own. */
export async function createScene(
  world: World,
  o: SmtpServerOptions = {},
): Promise<SubmissionScene> {
  const [tenant, smtp] = await Promise.all([world.newTenant(), world.newSmtpServer(o)])
  const { mailer } = await tenant.client.configureSMTP({
    name: 'News',
    email: FROM,
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  return { ...tenant, smtp, mailerId: mailer.mailer_id }
}

export function plainToken(key: string, user = 'any'): string {
  return Buffer.from(`\0${user}\0${key}`).toString('base64')
}

/** Greeted, and having greeted. */
export async function greet(port: number, from?: string): Promise<RawClient> {
  const client = createRawClient(port, '127.0.0.1', from)
  await client.see(/^220 .*\r\n/)
  await client.ask('EHLO client.test')
  return client
}

export async function greetOverTls(port: number): Promise<RawClient> {
  const client = toRawClient(
    connect({ port, host: '127.0.0.1', ca: certificate.cert, rejectUnauthorized: false }),
  )
  await client.see(/^220 .*\r\n/)
  await client.ask('EHLO client.test')
  return client
}

export async function logIn(port: number, key: string, from?: string): Promise<RawClient> {
  const client = await greet(port, from)
  const reply = await client.ask(`AUTH PLAIN ${plainToken(key)}`)
  if (!reply.startsWith('235')) throw new Error(reply)
  return client
}

/** The reply to the message, or the first that was no 2xx before it. */
export async function submit(
  client: RawClient,
  raw: string,
  to: readonly string[] = ['ada@example.test'],
): Promise<string> {
  const mail = await client.ask(`MAIL FROM:<${FROM}>`)
  if (!mail.startsWith('250')) return mail
  for (const one of to) {
    const reply = await client.ask(`RCPT TO:<${one}>`)
    if (!reply.startsWith('250')) return reply
  }
  await client.ask('DATA')
  return await client.ask(`${raw.replace(/^\./gm, '..')}.`)
}

/** The reference that a 250 names. */
export function refOf(reply: string): string {
  const found = /^250 2\.0\.0 Ok: queued as ([0-9A-HJKMNP-TV-Z]{26})/.exec(reply)?.[1]
  if (found === undefined) throw new Error(reply)
  return found
}

export function lines(...all: readonly string[]): string {
  return all.map((line) => `${line}\r\n`).join('')
}
