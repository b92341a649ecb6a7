/** The operations on SMTP mailers, and the list of all mailers (docs/reference/mailers.md#kinds). */
import {
  configureSmtpAnswer,
  configureSmtpBody,
  deleteSmtpConfigAnswer,
  getSmtpConfigAnswer,
  listMailersAnswer,
  listMailersQuery,
  mailerParams,
  setMailerActiveAnswer,
  setMailerActiveBody,
  updateSmtpAnswer,
  updateSmtpBody,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../platform/http/operation.ts'
import { listMailers } from './list-mailers.ts'
import { domainToWire, showMailer } from './mailer-wire.ts'
import { type RemoveMailerDeps, removeMailer } from './remove-mailer.ts'
import { configureSmtp, type MailerDeps } from './smtp/configure-smtp.ts'
import { getSmtp } from './smtp/get-smtp.ts'
import { updateSmtp } from './smtp/update-smtp.ts'
import { setActive } from './state/set-active.ts'

export function registerMailerRoutes(app: FastifyInstance, deps: MailerDeps): void {
  const tag = 'Mailers'
  addOperation(app, 'configureSMTP', {
    summary: 'Configure an SMTP mailer',
    tag,
    scopes: ['mailers'],
    body: configureSmtpBody,
    answer: configureSmtpAnswer,
    errors: ['mailer_exists', 'mailer_unreachable', 'mailer_auth_failed', 'rate_limited'],
    async handle({ tenant, body }) {
      const mailer = await configureSmtp(deps, tenant.tenantId, body)
      return { success: true, message: 'Mailer configured', mailer: await showMailer(deps, mailer) }
    },
  })
  addOperation(app, 'updateSMTP', {
    summary: 'Update an SMTP mailer',
    tag,
    scopes: ['mailers'],
    params: mailerParams,
    body: updateSmtpBody,
    answer: updateSmtpAnswer,
    errors: [
      'conflict',
      'mailer_exists',
      'mailer_unreachable',
      'mailer_auth_failed',
      'rate_limited',
    ],
    async handle({ tenant, params, body }) {
      const mailer = await updateSmtp(deps, tenant.tenantId, params.mailer_id, body)
      return { success: true, message: 'Mailer updated', mailer: await showMailer(deps, mailer) }
    },
  })
  addOperation(app, 'getSMTPConfig', {
    summary: 'Get an SMTP mailer',
    tag,
    scopes: ['mailers', 'read'],
    params: mailerParams,
    answer: getSmtpConfigAnswer,
    async handle({ tenant, params }) {
      const mailer = await getSmtp(deps, tenant.tenantId, params.mailer_id)
      return { success: true, message: 'Mailer found', mailer: await showMailer(deps, mailer) }
    },
  })
  addOperation(app, 'deleteSMTPConfig', {
    summary: 'Delete an SMTP mailer',
    tag,
    scopes: ['mailers'],
    params: mailerParams,
    answer: deleteSmtpConfigAnswer,
    async handle({ tenant, params }) {
      await deleteSmtp(deps, tenant.tenantId, params.mailer_id)
      return { success: true, message: 'Mailer deleted' }
    },
  })
  addOperation(app, 'listMailers', {
    summary: 'List all mailers, with their state and last errors',
    tag,
    scopes: ['mailers', 'read'],
    query: listMailersQuery,
    answer: listMailersAnswer,
    async handle({ tenant, query }) {
      return { message: 'Mailers', ...(await listMailers(deps, tenant.tenantId, query)) }
    },
  })
  addOperation(app, 'setMailerActive', {
    summary: 'Disable a mailer, or make it active again',
    description:
      'Of any kind: SMTP, IMAP, OAuth, a sending domain. Mail of a disabled mailer is held, and nothing is fetched; no event tells it. A mailer becomes active only when its login is not rejected: else 422. A server that cannot be reached does not stand in the way.',
    tag,
    scopes: ['mailers'],
    params: mailerParams,
    body: setMailerActiveBody,
    answer: setMailerActiveAnswer,
    errors: ['mailer_auth_failed', 'rate_limited'],
    async handle({ tenant, params, body: { active } }) {
      const key = { tenantId: tenant.tenantId, mailerId: params.mailer_id }
      const mailer = await setActive(deps, key, active)
      return {
        message: active ? 'Mailer active' : 'Mailer disabled',
        mailer:
          mailer.connectionType === 'relay' ? domainToWire(mailer) : await showMailer(deps, mailer),
      }
    },
  })
}

/** deleteSMTPConfig (docs/reference/mailers.md#kinds). */
async function deleteSmtp(
  deps: RemoveMailerDeps,
  tenantId: string,
  mailerId: string,
): Promise<void> {
  await removeMailer(deps, await getSmtp(deps, tenantId, mailerId))
}
