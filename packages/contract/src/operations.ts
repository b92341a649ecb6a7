/**
 * Method, path, success status and kind of key of every operation that the service answers
 * (docs/reference/README.md). Server routes and the client are both held against this table.
 */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Parameters in braces, as in OpenAPI. */
  readonly path: string
  readonly status: 200 | 201 | 202
  readonly auth: 'tenant' | 'admin'
}

export const operations = {
  sendEmail: {
    method: 'POST',
    path: '/v1/email/send',
    status: 202,
    auth: 'tenant',
  },
  cancelScheduledEmail: {
    method: 'DELETE',
    path: '/v1/email/{ref_id}/schedule',
    status: 200,
    auth: 'tenant',
  },
  rescueEmails: {
    method: 'POST',
    path: '/v1/email/rescue',
    status: 202,
    auth: 'tenant',
  },
  getEmailLogs: {
    method: 'GET',
    path: '/v1/email/logs',
    status: 200,
    auth: 'tenant',
  },
  exportEmailLogs: {
    method: 'GET',
    path: '/v1/email/logs/export',
    status: 200,
    auth: 'tenant',
  },
  getEmail: {
    method: 'GET',
    path: '/v1/email/{ref_id}',
    status: 200,
    auth: 'tenant',
  },
  getStatistics: {
    method: 'GET',
    path: '/v1/statistics',
    status: 200,
    auth: 'tenant',
  },
  subscribeEmail: {
    method: 'POST',
    path: '/v1/email/subscribe',
    status: 200,
    auth: 'tenant',
  },
  unsubscribeEmail: {
    method: 'POST',
    path: '/v1/email/unsubscribe',
    status: 200,
    auth: 'tenant',
  },
  listSuppressions: {
    method: 'GET',
    path: '/v1/suppressions',
    status: 200,
    auth: 'tenant',
  },
  getSuppression: {
    method: 'GET',
    path: '/v1/suppressions/{email}',
    status: 200,
    auth: 'tenant',
  },
  deleteSuppression: {
    method: 'DELETE',
    path: '/v1/suppressions/{email}',
    status: 200,
    auth: 'tenant',
  },
  registerWebhook: {
    method: 'POST',
    path: '/v1/webhook/register',
    status: 201,
    auth: 'tenant',
  },
  updateWebhook: {
    method: 'PUT',
    path: '/v1/webhook/update',
    status: 200,
    auth: 'tenant',
  },
  listWebhooks: {
    method: 'GET',
    path: '/v1/webhook',
    status: 200,
    auth: 'tenant',
  },
  deleteWebhook: {
    method: 'DELETE',
    path: '/v1/webhook/delete',
    status: 200,
    auth: 'tenant',
  },
  listWebhookDeliveries: {
    method: 'GET',
    path: '/v1/webhook/deliveries',
    status: 200,
    auth: 'tenant',
  },
  getWebhookDelivery: {
    method: 'GET',
    path: '/v1/webhook/deliveries/{delivery_id}',
    status: 200,
    auth: 'tenant',
  },
  redeliver: {
    method: 'POST',
    path: '/v1/webhook/deliveries/{delivery_id}/redeliver',
    status: 202,
    auth: 'tenant',
  },
  replayWebhookEvents: {
    method: 'POST',
    path: '/v1/webhook/replay',
    status: 202,
    auth: 'tenant',
  },
  configureSMTP: {
    method: 'POST',
    path: '/v1/smtp',
    status: 201,
    auth: 'tenant',
  },
  updateSMTP: {
    method: 'PUT',
    path: '/v1/smtp/{mailer_id}',
    status: 200,
    auth: 'tenant',
  },
  getSMTPConfig: {
    method: 'GET',
    path: '/v1/smtp/{mailer_id}',
    status: 200,
    auth: 'tenant',
  },
  deleteSMTPConfig: {
    method: 'DELETE',
    path: '/v1/smtp/{mailer_id}',
    status: 200,
    auth: 'tenant',
  },
  configureIMAP: {
    method: 'POST',
    path: '/v1/imap',
    status: 201,
    auth: 'tenant',
  },
  updateIMAP: {
    method: 'PUT',
    path: '/v1/imap/{mailer_id}',
    status: 200,
    auth: 'tenant',
  },
  getIMAPConfig: {
    method: 'GET',
    path: '/v1/imap/{mailer_id}',
    status: 200,
    auth: 'tenant',
  },
  deleteIMAPConfig: {
    method: 'DELETE',
    path: '/v1/imap/{mailer_id}',
    status: 200,
    auth: 'tenant',
  },
  listMailers: {
    method: 'GET',
    path: '/v1/mailers',
    status: 200,
    auth: 'tenant',
  },
  setMailerActive: {
    method: 'PUT',
    path: '/v1/mailers/{mailer_id}/active',
    status: 200,
    auth: 'tenant',
  },
  createOAuthApp: {
    method: 'POST',
    path: '/v1/oauth/apps',
    status: 201,
    auth: 'tenant',
  },
  listOAuthApps: {
    method: 'GET',
    path: '/v1/oauth/apps',
    status: 200,
    auth: 'tenant',
  },
  updateOAuthApp: {
    method: 'PUT',
    path: '/v1/oauth/apps/{app_id}',
    status: 200,
    auth: 'tenant',
  },
  deleteOAuthApp: {
    method: 'DELETE',
    path: '/v1/oauth/apps/{app_id}',
    status: 200,
    auth: 'tenant',
  },
  oauthLogin: {
    method: 'POST',
    path: '/v1/oauth/login',
    status: 200,
    auth: 'tenant',
  },
  setOAuthActive: {
    method: 'PUT',
    path: '/v1/oauth/{mailer_id}/active',
    status: 200,
    auth: 'tenant',
  },
  configureRelay: {
    method: 'PUT',
    path: '/v1/relay/{kind}',
    status: 200,
    auth: 'tenant',
  },
  getRelay: {
    method: 'GET',
    path: '/v1/relay/{kind}',
    status: 200,
    auth: 'tenant',
  },
  deleteRelay: {
    method: 'DELETE',
    path: '/v1/relay/{kind}',
    status: 200,
    auth: 'tenant',
  },
  addDomain: {
    method: 'POST',
    path: '/v1/domain',
    status: 201,
    auth: 'tenant',
  },
  listDomains: {
    method: 'GET',
    path: '/v1/domain',
    status: 200,
    auth: 'tenant',
  },
  getDomain: {
    method: 'GET',
    path: '/v1/domain/{domain}',
    status: 200,
    auth: 'tenant',
  },
  verifyDomain: {
    method: 'POST',
    path: '/v1/domain/{domain}/verify',
    status: 200,
    auth: 'tenant',
  },
  updateDomain: {
    method: 'PUT',
    path: '/v1/domain/{domain}',
    status: 200,
    auth: 'tenant',
  },
  rotateDomainKey: {
    method: 'POST',
    path: '/v1/domain/{domain}/rotate',
    status: 200,
    auth: 'tenant',
  },
  deleteDomain: {
    method: 'DELETE',
    path: '/v1/domain/{domain}',
    status: 200,
    auth: 'tenant',
  },
  configureInboundRouting: {
    method: 'POST',
    path: '/v1/inbound/domain',
    status: 201,
    auth: 'tenant',
  },
  listInboundDomains: {
    method: 'GET',
    path: '/v1/inbound/domain',
    status: 200,
    auth: 'tenant',
  },
  getInboundDomain: {
    method: 'GET',
    path: '/v1/inbound/domain/{domain}',
    status: 200,
    auth: 'tenant',
  },
  updateInboundDomain: {
    method: 'PUT',
    path: '/v1/inbound/domain/{domain}',
    status: 200,
    auth: 'tenant',
  },
  deleteInboundDomain: {
    method: 'DELETE',
    path: '/v1/inbound/domain/{domain}',
    status: 200,
    auth: 'tenant',
  },
  createInboundUsername: {
    method: 'POST',
    path: '/v1/inbound/domain/{domain}/username',
    status: 201,
    auth: 'tenant',
  },
  listInboundUsernames: {
    method: 'GET',
    path: '/v1/inbound/domain/{domain}/username',
    status: 200,
    auth: 'tenant',
  },
  getInboundUsername: {
    method: 'GET',
    path: '/v1/inbound/domain/{domain}/username/{username}',
    status: 200,
    auth: 'tenant',
  },
  updateInboundUsername: {
    method: 'PUT',
    path: '/v1/inbound/domain/{domain}/username/{username}',
    status: 200,
    auth: 'tenant',
  },
  deleteInboundUsername: {
    method: 'DELETE',
    path: '/v1/inbound/domain/{domain}/username/{username}',
    status: 200,
    auth: 'tenant',
  },
  getPhishingSettings: {
    method: 'GET',
    path: '/v1/phishing',
    status: 200,
    auth: 'tenant',
  },
  updatePhishingSettings: {
    method: 'PUT',
    path: '/v1/phishing',
    status: 200,
    auth: 'tenant',
  },
  listInboundMessages: {
    method: 'GET',
    path: '/v1/inbound/messages',
    status: 200,
    auth: 'tenant',
  },
  getInboundMessage: {
    method: 'GET',
    path: '/v1/inbound/messages/{inbound_id}',
    status: 200,
    auth: 'tenant',
  },
  getRawInboundMessage: {
    method: 'GET',
    path: '/v1/inbound/messages/{inbound_id}/raw',
    status: 200,
    auth: 'tenant',
  },
  getInboundAttachment: {
    method: 'GET',
    path: '/v1/inbound/messages/{inbound_id}/attachments/{n}',
    status: 200,
    auth: 'tenant',
  },
  createTenant: {
    method: 'POST',
    path: '/admin/v1/tenants',
    status: 201,
    auth: 'admin',
  },
  listTenants: {
    method: 'GET',
    path: '/admin/v1/tenants',
    status: 200,
    auth: 'admin',
  },
  createApiKey: {
    method: 'POST',
    path: '/admin/v1/tenants/{tenant_id}/keys',
    status: 201,
    auth: 'admin',
  },
  listApiKeys: {
    method: 'GET',
    path: '/admin/v1/tenants/{tenant_id}/keys',
    status: 200,
    auth: 'admin',
  },
  revokeApiKey: {
    method: 'DELETE',
    path: '/admin/v1/keys/{key_id}',
    status: 200,
    auth: 'admin',
  },
} as const satisfies Record<string, Operation>

export type OperationId = keyof typeof operations
