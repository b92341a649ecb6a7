/** Groups of operations, in the order in which a newcomer needs them. */
export const tags = [
  {
    name: 'Email',
    description:
      'Send an email with sendEmail. The answer has its `ref_id`, which every event of the email carries. getEmail shows each recipient with all attempts. getEmailLogs finds emails by recipient, status, subject and time. rescueEmails sends failed emails again, retryEmails tries waiting ones now, and cancelEmails takes them back.',
  },
  {
    name: 'Templates',
    description:
      'Subject and content that are stored once, as Liquid templates, and sent by `template_id` with the data of each email. Every change is a new version; sendEmail takes the newest, or `template_version`.',
  },
  {
    name: 'Mailers',
    description:
      'A mailer is an account at a mail server: by SMTP it sends, by IMAP it fetches. Configure one for each sender address; sendEmail finds it by `from`. When its login is rejected it is `deactivated`, which `MAILER_DEACTIVATED` tells, and its mail waits until the login works again.',
  },
  {
    name: 'Webhooks',
    description:
      'What happens to emails is sent to an https URL of yours, in order and until you have acknowledged it. Register one webhook for each event type. The record of deliveries shows each request with its attempts, and what was sent can be sent again.',
  },
  {
    name: 'Events',
    description:
      'Everything that happened, as webhooks get it: listEvents reads the log, also of what no webhook wanted; streamEvents tells it as it happens.',
  },
  {
    name: 'Suppressions',
    description:
      'Addresses that get no mail: they unsubscribed, refused mail for good, or reported spam. An email to such an address is accepted with the status `suppressed` and is not sent.',
  },
  {
    name: 'Domains',
    description:
      'A sending domain sends for every address of the domain, by a relay provider. addDomain tells which DNS records to publish, verifyDomain looks whether they are there.',
  },
  {
    name: 'Relays',
    description:
      'Your account at a relay provider, by which sending domains send. Register `callback_url` of the answer at the provider, so that its reports become events.',
  },
  {
    name: 'Inbound mail',
    description:
      'Receive mail for a domain, or for single usernames of it, at a webhook of yours (`INCOMING_EMAIL`). Received messages are kept, with their attachments, as long as everything else in the record.',
  },
  {
    name: 'OAuth',
    description:
      'Connect mailboxes that log in by OAuth, such as those of Google and Microsoft: register your app once, then send people to the `authorization_url` of oauthLogin.',
  },
  {
    name: 'Phishing protection',
    description:
      'Outgoing email is looked through for signs of phishing before it is sent; what has too many of them is stopped, and `PHISHING` tells of it.',
  },
  {
    name: 'Keys',
    description:
      'API keys of your account, each with scopes, networks and an expiry, and the audit log: what the operator changed for you, and what your keys changed of your keys.',
  },
  {
    name: 'Members',
    description:
      'People who may use the dashboard for your account, each with a role. Invite a person with createMember, and send the `invitation_url` of its answer to the person.',
  },
  {
    name: 'Sessions',
    description:
      'For the dashboard in a browser: logging in and out. A session calls every other operation under `/ui/api` and its path, as far as the role of the person allows.',
  },
  {
    name: 'Administration',
    description:
      "For the operator of the service, with the operator's token: tenants, the API keys with which tenants call all other operations, and the users of the dashboard.",
  },
] as const

export type Tag = (typeof tags)[number]['name']
