/**
 * Stores received mail raw, in the transaction that its sender's answer waits for: once for each tenant,
 * with a message for each route, and each message's place in the queue.
 *
 * What came by SMTP is stored for those recipients who have not had it: a server sends again what it got
 * no answer to (docs/reference/inbound.md#storing). That is told by the Message-ID: without one, a message is
 * always another, as machines write the same time and again.
 */
import type { Tx } from '../../platform/db/index.ts'
import { newIdAt } from '../../platform/ids.ts'
import {
  insertMessages,
  insertRaws,
  type NewMessage,
  type NewRaw,
} from '../messages/message-store.ts'
import { digestLarge } from './digest.ts'
import type { InboundRoute, MailboxMail, SmtpMail } from './received-mail.ts'
import { noteSeen, type SeenKey, seenKeyText } from './seen-store.ts'

/** A mail, and what it is recognised by: made outside of the transaction. */
export interface DigestedSmtpMail {
  readonly mail: SmtpMail
  readonly routes: readonly {
    readonly route: InboundRoute
    readonly to: readonly { readonly address: string; readonly key: SeenKey | undefined }[]
  }[]
}

export async function digestSmtpMail(mail: SmtpMail): Promise<DigestedSmtpMail> {
  const digest = await digestLarge(mail.raw)
  return {
    mail,
    routes: mail.routes.map(({ route, to }) => ({
      route,
      to: to.map((address) => ({
        address,
        key:
          digest.messageId === undefined
            ? undefined
            : { tenantId: route.tenantId, digest: digest.of(address) },
      })),
    })),
  }
}

/** Each mail's messages: none where all its recipients have had it. */
export async function storeSmtpMails(
  tx: Tx,
  mails: readonly DigestedSmtpMail[],
): Promise<readonly (readonly NewMessage[])[]> {
  const keys = new Map(
    mails.flatMap(({ routes }) =>
      routes.flatMap(({ to }) =>
        to.flatMap(({ key }) => (key === undefined ? [] : [[seenKeyText(key), key] as const])),
      ),
    ),
  )
  const fresh = new Set(await noteSeen(tx, [...keys.values()]))
  const stored = mails.map(({ mail, routes }) => {
    const wanted = routes.map(({ route, to }) => ({
      route,
      // The first of several that are the same has it.
      to: to
        .filter(({ key }) => key === undefined || fresh.delete(seenKeyText(key)))
        .map(({ address }) => address),
    }))
    return prepareMail({ ...mail, routes: wanted.filter(({ to }) => to.length > 0) })
  })
  await insertAll(tx, stored)
  return stored.map(({ messages }) => messages)
}

/** Of mailboxes, whose caller knows what was seen: in its transaction. Answers an id for each. */
export async function storeMailboxMail(
  tx: Tx,
  mails: readonly MailboxMail[],
): Promise<readonly string[]> {
  const stored = mails.map((mail) => {
    const { raw, tenantId, mailerId, folder, serverThread, problem, receivedAtMicros } = mail
    const inboundId = newIdAt('in', Date.now())
    const from = { source: 'imap' as const, mailerId, folder, serverThread }
    return {
      raws: [{ tenantId, rawId: inboundId, raw }],
      messages: [
        {
          tenantId,
          inboundId,
          rawId: inboundId,
          bytes: raw.length,
          owner: mailerId,
          receivedAtMicros,
          from,
          problem,
        },
      ],
    }
  })
  await insertAll(tx, stored)
  return stored.flatMap(({ messages }) => messages.map(({ inboundId }) => inboundId))
}

interface Prepared {
  readonly raws: readonly NewRaw[]
  readonly messages: readonly NewMessage[]
}

/** What others were sent, and by which routes, is nobody else's business: each has its own recipients. */
function prepareMail({ raw, envelope, routes, receivedAtMicros }: SmtpMail): Prepared {
  const nowMs = Date.now()
  const rawIds = new Map<string, string>()
  const messages = routes.map(({ route: { tenantId, domain, username, owner }, to }) => {
    const inboundId = newIdAt('in', nowMs)
    const rawId = rawIds.get(tenantId) ?? inboundId
    rawIds.set(tenantId, rawId)
    const from = { source: 'smtp' as const, domain, username, envelope: { ...envelope, to } }
    return { tenantId, inboundId, rawId, bytes: raw.length, owner, receivedAtMicros, from }
  })
  return { raws: [...rawIds].map(([tenantId, rawId]) => ({ tenantId, rawId, raw })), messages }
}

async function insertAll(tx: Tx, all: readonly Prepared[]): Promise<void> {
  await Promise.all([
    insertRaws(
      tx,
      all.flatMap(({ raws }) => raws),
    ),
    insertMessages(
      tx,
      all.flatMap(({ messages }) => messages),
    ),
  ])
}
