/** SMTP mailers, and the list of all (spec §4.3; contract §3). */
import type {
  ConfigureSmtpAnswer,
  ConfigureSmtpBody,
  DeleteSmtpConfigAnswer,
  GetSmtpConfigAnswer,
  ListedMailer,
  ListMailersAnswer,
  ListMailersQuery,
  UpdateSmtpAnswer,
  UpdateSmtpBody,
} from '@postrider/contract'
import { eachListed } from '../core/pages.ts'
import type { RequestOptions, Send } from '../core/request.ts'

const mailerPath = '/v1/smtp/{mailer_id}'

export type UpdateSmtpInput = Omit<UpdateSmtpBody, 'mailer_id'> & { mailer_id: string }

export function configureSMTP(
  send: Send,
  body: ConfigureSmtpBody,
  options?: RequestOptions,
): Promise<ConfigureSmtpAnswer> {
  return send({ method: 'POST', path: '/v1/smtp', body }, options)
}

export async function updateSMTP(
  send: Send,
  input: UpdateSmtpInput,
  options?: RequestOptions,
): Promise<UpdateSmtpAnswer> {
  const { mailer_id, ...body } = input
  return send({ method: 'PUT', path: mailerPath, parameters: { mailer_id }, body }, options)
}

export function getSMTPConfig(
  send: Send,
  mailerId: string,
  options?: RequestOptions,
): Promise<GetSmtpConfigAnswer> {
  return send({ method: 'GET', path: mailerPath, parameters: { mailer_id: mailerId } }, options)
}

export function deleteSMTPConfig(
  send: Send,
  mailerId: string,
  options?: RequestOptions,
): Promise<DeleteSmtpConfigAnswer> {
  return send({ method: 'DELETE', path: mailerPath, parameters: { mailer_id: mailerId } }, options)
}

export function listMailers(
  send: Send,
  filter: ListMailersQuery = {},
  options?: RequestOptions,
): Promise<ListMailersAnswer> {
  return send({ method: 'GET', path: '/v1/mailers', query: filter }, options)
}

export function eachMailer(
  send: Send,
  filter: ListMailersQuery = {},
  options?: RequestOptions,
): AsyncGenerator<ListedMailer, void, undefined> {
  return eachListed(filter, {
    list: (page) => listMailers(send, page, options),
    entriesOf: (answer) => answer.mailers,
    options,
  })
}
