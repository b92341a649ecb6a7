/** The operations on IMAP mailers (docs/reference/inbound.md#mailboxes). */
import {
  configureImapAnswer,
  configureImapBody,
  deleteImapConfigAnswer,
  getImapConfigAnswer,
  imapMailerParams,
  updateImapAnswer,
  updateImapBody,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../../platform/http/operation.ts'
import { toWireSecret } from '../../webhooks/index.ts'
import { showMailer } from '../mailer-wire.ts'
import { type RemoveMailerDeps, removeMailer } from '../remove-mailer.ts'
import { configureImap, type ImapDeps } from './configure/configure-imap.ts'
import { getImap } from './configure/get-imap.ts'
import { updateImap } from './configure/update-imap.ts'

const TAG = 'Mailers'
const CHECKS = [
  'mailer_unreachable',
  'mailer_auth_failed',
  'url_not_allowed',
  'url_unreachable',
  'rate_limited',
] as const

export function imapRoutes(app: FastifyInstance, deps: ImapDeps): void {
  addOperation(app, 'configureIMAP', {
    summary: 'Configure an IMAP mailer',
    description:
      'Mail that arrives in the mailbox from then on becomes `INCOMING_EMAIL` at its `webhook`. Nothing in the mailbox is changed. The login is tried, and the folders are looked for, within 10 seconds.',
    tag: TAG,
    scopes: ['mailers'],
    body: configureImapBody,
    answer: configureImapAnswer,
    errors: ['mailer_exists', ...CHECKS],
    async handle({ tenant, body }) {
      const saved = await configureImap(deps, tenant.tenantId, body)
      const mailer = await showMailer(deps, saved.mailer)
      return { success: true, message: 'Mailer configured', mailer, ...toWireSecret(saved) }
    },
  })
  addOperation(app, 'updateIMAP', {
    summary: 'Update an IMAP mailer',
    description:
      'Also of a mailer that oauthLogin made for `imap` or `smtp_imap`, whose `webhook` is set by this; `config` is then about the server that is fetched from. Folders that stay are watched on from where they are; with another account all of them begin anew.',
    tag: TAG,
    scopes: ['mailers'],
    params: imapMailerParams,
    body: updateImapBody,
    answer: updateImapAnswer,
    errors: ['conflict', 'mailer_exists', ...CHECKS],
    async handle({ tenant, params, body }) {
      const saved = await updateImap(deps, tenant.tenantId, params.mailer_id, body)
      const mailer = await showMailer(deps, saved.mailer)
      return { success: true, message: 'Mailer updated', mailer, ...toWireSecret(saved) }
    },
  })
  addOperation(app, 'getIMAPConfig', {
    summary: 'Get an IMAP mailer',
    tag: TAG,
    scopes: ['mailers', 'read'],
    params: imapMailerParams,
    answer: getImapConfigAnswer,
    async handle({ tenant, params }) {
      const mailer = await getImap(deps, tenant.tenantId, params.mailer_id)
      return { success: true, message: 'Mailer found', mailer: await showMailer(deps, mailer) }
    },
  })
  addOperation(app, 'deleteIMAPConfig', {
    summary: 'Delete an IMAP mailer',
    tag: TAG,
    scopes: ['mailers'],
    params: imapMailerParams,
    answer: deleteImapConfigAnswer,
    async handle({ tenant, params }) {
      await deleteImap(deps, tenant.tenantId, params.mailer_id)
      return { success: true, message: 'Mailer deleted' }
    },
  })
}

/**
 * deleteIMAPConfig (docs/reference/inbound.md#mailboxes). Mail that was received already is still reported,
 * or recorded.
 */
async function deleteImap(
  deps: RemoveMailerDeps,
  tenantId: string,
  mailerId: string,
): Promise<void> {
  await removeMailer(deps, await getImap(deps, tenantId, mailerId))
}
