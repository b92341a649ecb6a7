/**
 * Replies as real servers give them, and what they mean: the category, whether another attempt can
 * help, and whether the mailer's own login was refused. Known by their text alone, without the stage.
 */
import type { FailureCategory } from './failure-category.ts'

export type ReplyCase = readonly [
  reply: string,
  category: FailureCategory,
  outcome: 'retry' | 'final',
  about?: 'login',
]

export const REPLY_CASES: readonly ReplyCase[] = [
  // gmail
  [
    '535-5.7.8 Username and Password not accepted. For more information, go to\n535 5.7.8  https://support.google.com/mail/?p=BadCredentials d2e1-1.2 - gsmtp',
    'auth_rejected',
    'final',
    'login',
  ],
  [
    '534-5.7.9 Please log in with your web browser and then try again...',
    'auth_rejected',
    'final',
    'login',
  ],
  ['534 5.7.14 Please log in through your web browser', 'auth_rejected', 'final', 'login'],
  ['535 5.7.1 Application-specific password required', 'auth_rejected', 'final', 'login'],
  [
    '454 4.7.0 Too many login attempts, please try again later. d2e1-1.2 - gsmtp',
    'auth_throttled',
    'retry',
  ],
  ['550 5.4.5 Daily SMTP relay limit exceeded for user.', 'sender_quota_exhausted', 'final'],
  [
    '550 5.7.0 Mail Sending denied. This error occurs if the sender account is disabled or not registered',
    'sender_blocked',
    'final',
  ],
  [
    "550 5.7.1 Invalid credentials for relay [192.0.2.1]. The IP address you've registered in your Workspace SMTP Relay service doesn't match the domain",
    'sender_not_authorized',
    'final',
    'login',
  ],
  [
    '550 5.7.0 Mail relay denied [192.0.2.1]. Invalid credentials for relay for one of the domains',
    'sender_not_authorized',
    'final',
    'login',
  ],
  ['421 4.3.0 Temporary System Problem. Try again later', 'temporary', 'retry'],
  ['421 4.4.5 Server busy, try again later.', 'temporary', 'retry'],
  ['452 4.5.3 Your message has too many recipients.', 'too_many_recipients', 'retry'],
  ['550 5.5.3 Too many recipients for this sender', 'too_many_recipients', 'final'],
  ["552 5.3.4 Your message exceeded Google's message size limits.", 'message_too_large', 'final'],
  [
    '552-5.7.0 This message was blocked because its content presents a potential security issue.',
    'content_rejected',
    'final',
  ],
  ['501 5.5.2 Syntax error, cannot decode response.', 'protocol_error', 'final'],
  [
    "550-5.1.1 The email account that you tried to reach does not exist. Please try 550-5.1.1 double-checking the recipient's email address for typos or 550-5.1.1 unnecessary spaces. Learn more at 550 5.1.1 https://support.google.com/mail/?p=NoSuchUser",
    'invalid_recipient',
    'final',
  ],
  [
    '550 5.2.1 The email account that you tried to reach is disabled. g0000000000ggg.00',
    'mailbox_disabled',
    'final',
  ],
  [
    "452 4.2.2 The recipient's inbox is out of storage space. Please direct the recipient to https://support.google.com/mail/?p=OverQuotaTemp",
    'mailbox_full',
    'retry',
  ],
  [
    "552-5.2.2 The recipient's inbox is out of storage space and inactive. Please 552-5.2.2 direct the recipient to 552 5.2.2 https://support.google.com/mail/?p=OverQuotaPerm",
    'mailbox_full',
    'final',
  ],
  [
    '550-5.2.1 The user you are trying to contact is receiving mail at a rate that 550-5.2.1 prevents additional messages from being delivered. https://support.google.com/mail/?p=ReceivingRatePerm',
    'recipient_rate_limited',
    'final',
  ],
  ["553 5.1.2 We weren't able to find the recipient domain.", 'invalid_recipient_domain', 'final'],
  [
    '550-5.7.1 [192.0.2.22 18] Our system has detected that this message is 550-5.7.1 likely suspicious due to the very low reputation of the sending IP 550-5.7.1 address.',
    'blocked_reputation',
    'final',
  ],
  [
    '550 5.7.1 Our system has detected that this message is likely unsolicited mail.',
    'blocked_spam',
    'final',
  ],
  [
    '421 4.7.28 Gmail has detected an unusual rate of mail originating from your IP address.',
    'blocked_rate',
    'retry',
  ],
  [
    '550-5.7.26 This mail has been blocked because the sender is unauthenticated. 550-5.7.26 Gmail requires all senders to authenticate with either SPF or DKIM.',
    'blocked_unauthenticated_domain',
    'final',
  ],
  [
    '421 4.7.26 This mail has been rate limited because it is unauthenticated.',
    'blocked_unauthenticated_domain',
    'retry',
  ],
  // microsoft
  [
    '535 5.7.3 Authentication unsuccessful [SN2PR00CA0018.namprd00.prod.outlook.com]',
    'auth_rejected',
    'final',
    'login',
  ],
  [
    '535 5.7.139 Authentication unsuccessful, basic authentication is disabled. [PN0PR01CA0024.INDPRD01.PROD.OUTLOOK.COM 2025-01-26T18:54:30.055Z 08DD3DD7D75D7743]',
    'auth_rejected',
    'final',
    'login',
  ],
  [
    '535 5.7.139 Authentication unsuccessful, the user credentials were incorrect. [PH0PR07CA0004.namprd07.prod.outlook.com]',
    'auth_rejected',
    'final',
    'login',
  ],
  [
    '535 5.7.139 Authentication unsuccessful, federated STS service was unreachable.',
    'auth_temporary',
    'retry',
  ],
  [
    '535 5.7.139 Authentication unsuccessful, the federated STS URL does not support HTTPS.',
    'auth_rejected',
    'final',
    'login',
  ],
  [
    '530 5.7.57 Client not authenticated to send mail. Error: 535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Tenant.',
    'auth_required',
    'final',
    'login',
  ],
  [
    '432 4.3.2 Concurrent connections limit exceeded. Visit https://aka.ms/concurrent_sending for more information. [Hostname=OS0PR01MB6099.jpnprd01.prod.outlook.com]',
    'sender_concurrency_limited',
    'retry',
  ],
  [
    '554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException',
    'sender_quota_exhausted',
    'final',
  ],
  [
    '554 5.2.2 mailbox full; STOREDRV.Submission.Exception:QuotaExceededException.MapiExceptionShutoffQuotaExceeded',
    'sender_mailbox_full',
    'final',
  ],
  ['550 5.1.8 Access denied, bad outbound sender AS(42004)', 'sender_blocked', 'final'],
  ['451 4.7.0 Temporary server error. Please try again later. PRX5', 'temporary', 'retry'],
  ['454 4.7.0 Temporary authentication failure', 'auth_temporary', 'retry'],
  [
    "550 5.1.90 Your message can't be sent because you've reached your daily limit for message recipients",
    'sender_quota_exhausted',
    'final',
  ],
  ['550 5.5.0 Requested action not taken: mailbox unavailable', 'invalid_recipient', 'final'],
  [
    '432 4.3.2 STOREDRV.Deliver; recipient thread limit exceeded',
    'recipient_rate_limited',
    'retry',
  ],
  [
    "550 5.2.121 Recipient's per hour message receive limit from specific sender exceeded.",
    'recipient_rate_limited',
    'final',
  ],
  [
    '451 4.7.650 The mail server [192.0.2.25] has been temporarily rate limited due to IP reputation. (S3113)',
    'blocked_rate',
    'retry',
  ],
  [
    '451 4.7.500 Server busy. Please try again later from [192.0.2.2]. (AS761)',
    'blocked_rate',
    'retry',
  ],
  [
    '550 5.7.509 Access denied, sending domain [EXAMPLE.JP] does not pass DMARC verification and has a DMARC policy of reject.',
    'blocked_unauthenticated_domain',
    'final',
  ],
  ['550 5.7.708 Access denied, traffic not accepted from this IP', 'sender_blocked', 'final'],
  [
    '550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient',
    'message_too_large',
    'final',
  ],
  [
    '550 5.7.12 Sender was not authenticated by organization',
    'recipient_rejects_external',
    'final',
  ],
  ['550 5.4.316 Message expired, connection refused', 'expired', 'final'],
  // yahoo
  ['552 1 Requested mail action aborted, mailbox not found', 'invalid_recipient', 'final'],
  [
    '554 30 Sorry, your message to x@example.jp cannot be delivered. This mailbox is disabled (554.30)',
    'mailbox_disabled',
    'final',
  ],
  [
    '421 4.7.0 [TSS04] Messages from 192.0.2.192 temporarily deferred due to unexpected volume or user complaints - 4.16.55.1; see https://postmaster.verizonmedia.com/error-codes',
    'blocked_rate',
    'retry',
  ],
  [
    '553 5.7.2 [TSS09] All messages from 192.0.2.25 will be permanently deferred; Retrying will NOT succeed.',
    'blocked_reputation',
    'final',
  ],
  [
    "553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.25, because the ip is in Spamhaus's list",
    'blocked_reputation',
    'final',
  ],
  ['421 Max message per connection reached, closing transmission channel', 'temporary', 'retry'],
  [
    '451 Message temporarily deferred due to unresolvable RFC.5321 from domain.',
    'sender_domain_dns',
    'retry',
  ],
  // icloud
  ['550 5.1.1 <x@example.com>: inactive email address', 'invalid_recipient', 'final'],
  ['550 5.1.6 recipient no longer on server: kijitora@example.jp', 'invalid_recipient', 'final'],
  ['554 st11p00im-smtpin013.me.com ESMTP not accepting connections', 'blocked_reputation', 'final'],
  [
    '450 4.1.8 <x@example.jp>: Sender address rejected: Domain not found',
    'sender_domain_dns',
    'retry',
  ],
  // zoho
  ['535 Authentication Failed', 'auth_rejected', 'final', 'login'],
  ['553 Relaying disallowed as x@example.com', 'sender_not_allowed', 'final'],
  ['554 5.1.8 Sender Address Blocked', 'sender_blocked', 'final'],
  ['554 5.7.7 Email policy violation detected', 'blocked_policy', 'final'],
  ['554 5.7.1 Email cannot be delivered. Reason: Email flagged as Spam.', 'blocked_spam', 'final'],
  ['452 4.3.1 Temporary System Error', 'temporary', 'retry'],
  // ses
  ['535 Authentication Credentials Invalid', 'auth_rejected', 'final', 'login'],
  ['535 Account not subscribed to SES', 'auth_rejected', 'final', 'login'],
  ['530 Authentication required', 'auth_required', 'final', 'login'],
  ['454 Temporary authentication failure', 'auth_temporary', 'retry'],
  ['454 Throttling failure: Maximum sending rate exceeded', 'sender_rate_limited', 'retry'],
  ['454 Throttling failure: Daily message quota exceeded', 'sender_quota_exhausted', 'final'],
  ['421 Too many concurrent SMTP connections', 'sender_concurrency_limited', 'retry'],
  ['552 Message is too long.', 'message_too_large', 'final'],
  // sendgrid
  ['421 Message from (X.X.X.X) temporarily deferred', 'blocked_rate', 'retry'],
  [
    '450 too frequent connects from 198.37.147.135, please try again later.',
    'blocked_rate',
    'retry',
  ],
  ['452 Too many recipients received this hour (throttled)', 'sender_rate_limited', 'retry'],
  // sparkpost
  ['550 5.7.1 Unconfigured Sending Domain <demo.example.com>', 'sender_not_allowed', 'final'],
  [
    '554 5.4.7 [internal] message timeout (last transfail: 454 4.4.4 [internal] no MX or A for domain)',
    'expired',
    'final',
  ],
  ['454 4.4.4 [internal] no MX or A for domain', 'recipient_domain_dns', 'retry'],
  // postfix
  [
    '550 5.1.1 <neko@example.co.jp>: Recipient address rejected: User unknown in virtual mailbox table',
    'invalid_recipient',
    'final',
  ],
  [
    '450 4.1.1 <kijitora@example.org>: Recipient address rejected: User unknown in virtual alias table',
    'invalid_recipient',
    'retry',
  ],
  ['554 5.7.1 <kijitora@example.com>: Relay access denied', 'relay_denied', 'final'],
  [
    '552 5.2.2 <neko@nyaaan.example.org> Quota exceeded (mailbox for user is full)',
    'mailbox_full',
    'final',
  ],
  ['452 4.3.2 Connection rate limit exceeded.', 'temporary', 'retry'],
  [
    '421 4.7.1 Service unavailable; Client host [1.2.3.4] blocked using grey.rbl - Greylisting in action, please try again later',
    'greylisted',
    'retry',
  ],
  [
    '554 5.7.1 Service unavailable; Client host [11.22.33.44] blocked using sbl-xbl.spamhaus.org',
    'blocked_reputation',
    'final',
  ],
  // rspamd/mailcow
  ['451 4.7.1 Ratelimit "user" exceeded', 'sender_rate_limited', 'retry'],
  // hoster
  ['550 send spam mail rejected: exceeded hour limit', 'sender_rate_limited', 'final'],
  // exim/hestia
  [
    '550 Email account smtpout@example.com is sending too many emails - rate overlimit = 83.6 / 1h',
    'sender_rate_limited',
    'final',
  ],
  // sendmail
  [
    '553 5.1.8 <root@host.example.com>... Domain of sender address root@host.example.com does not exist',
    'sender_domain_dns',
    'final',
  ],
  ['554 5.4.6 Too many hops', 'mail_loop', 'final'],
  // qmail
  [
    '553 sorry, your envelope recipient is in my badrcptto list (#5.7.1)',
    'invalid_recipient',
    'final',
  ],
  // spamassassin/amavis
  ['554 5.7.0 Reject, id=20025-09 - SPAM', 'blocked_spam', 'final'],
  // gmx
  [
    '554-mail.com (mxgmxus002) Nemesis ESMTP Service not available 554-No SMTP service 554-Bad DNS PTR resource record.',
    'blocked_policy',
    'final',
  ],
  // mail.ru
  [
    '550 5.7.1 This message was not accepted due to domain (example.org) owner DMARC policy (RFC 7489)',
    'blocked_unauthenticated_domain',
    'final',
  ],
  // proofpoint
  [
    '554 Blocked - see https://support.proofpoint.com/dnsbl-lookup.cgi?ip=192.0.2.225',
    'blocked_reputation',
    'final',
  ],
  // generic
  ['550 Virus Detected; Content Rejected', 'content_rejected', 'final'],
  ['426 connection timed out', 'network', 'retry'],

  // gmail
  [
    '530-5.7.0 Authentication Required. For more information, go to\n530 5.7.0  https://support.google.com/accounts/troubleshooter/2402620. d2e1-1.2 - gsmtp',
    'auth_required',
    'final',
    'login',
  ],
  ['530 5.7.0 Must issue a STARTTLS command first. d2e1-1.2 - gsmtp', 'tls_required', 'final'],
  [
    '534-5.7.9 Application-specific password required. Learn more at\n534 5.7.9  https://support.google.com/mail/?p=InvalidSecondFactor d2e1-1.2 - gsmtp',
    'auth_rejected',
    'final',
    'login',
  ],
  [
    '454 4.7.0 Cannot authenticate due to a temporary system problem. Try again later. d2e1-1.2 - gsmtp',
    'auth_temporary',
    'retry',
  ],
  [
    '550-5.4.5 Daily user sending limit exceeded. For more information on Gmail\n550 5.4.5 sending limits go to https://support.google.com/a/answer/166852',
    'sender_quota_exhausted',
    'final',
  ],
  [
    '450-4.2.1 The user you are trying to contact is receiving mail too quickly.\n450-4.2.1 Please resend your message at a later time.\n450 4.2.1 https://support.google.com/mail/?p=ReceivingRate',
    'recipient_rate_limited',
    'retry',
  ],
  [
    '421-4.7.0 This message is suspicious due to the nature of the content or the links within.\n421 4.7.0 To best protect our users from spam, the message has been blocked.',
    'blocked_spam',
    'retry',
  ],
  [
    '550-5.7.25 [192.0.2.1] The IP address sending this message does not have a PTR record\n550 5.7.25 setup, or the corresponding forward DNS entry does not match the sending IP.',
    'blocked_policy',
    'final',
  ],
  [
    '550-5.7.1 This message does not have authentication information or fails to pass\n550 5.7.1 authentication checks. To best protect our users from spam, the message has been blocked.',
    'blocked_unauthenticated_domain',
    'final',
  ],
  ['504 5.7.4 Unrecognized Authentication Type. d2e1-1.2 - gsmtp', 'protocol_error', 'final'],
  [
    '535 5.5.4 Optional Argument not permitted for that AUTH mode. d2e1-1.2 - gsmtp',
    'protocol_error',
    'final',
  ],
  ['421 4.7.0 TLS required for RCPT domain, closing connection.', 'tls_required', 'retry'],
  ['550 5.7.1 Email quota exceeded.', 'sender_quota_exhausted', 'final'],
  // outlook, exchange
  [
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient x@example.com not found by SMTP address lookup',
    'invalid_recipient',
    'final',
  ],
  [
    '550 5.4.1 Recipient address rejected: Access denied. [AM0EUR01FT001.eop-EUR01.prod.protection.outlook.com]',
    'invalid_recipient',
    'final',
  ],
  [
    '550 5.7.1 RESOLVER.RST.AuthRequired; authentication required',
    'recipient_rejects_external',
    'final',
  ],
  [
    '550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required; Delivery restriction check failed because the sender was not authenticated',
    'recipient_rejects_external',
    'final',
  ],
  [
    '550 5.7.60 SMTP; Client does not have permissions to send as this sender',
    'sender_not_allowed',
    'final',
  ],
  [
    '554 5.2.252 SendAsDenied; x@example.com not allowed to send as y@example.com; STOREDRV.Submission.Exception:SendAsDeniedException.MapiExceptionSendAsDenied',
    'sender_not_allowed',
    'final',
  ],
  [
    '550 5.7.606 Access denied, banned sending IP [192.0.2.1]. To request removal from this list please visit https://sender.office.com/',
    'blocked_reputation',
    'final',
  ],
  [
    "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3140).",
    'blocked_reputation',
    'final',
  ],
  [
    "421 RP-001 (BAY004-MC1F1) Unfortunately, some messages from 192.0.2.1 weren't sent. The mail server IP has exceeded the rate limit allowed on this connection.",
    'blocked_rate',
    'retry',
  ],
  [
    '550 5.7.705 Service unavailable. Access denied, tenant has exceeded threshold.',
    'sender_blocked',
    'final',
  ],
  [
    "550 5.7.515 Access denied, sending domain EXAMPLE.COM doesn't meet the required authentication level.",
    'blocked_unauthenticated_domain',
    'final',
  ],
  [
    '535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Tenant. Visit https://aka.ms/smtp_auth_disabled',
    'auth_rejected',
    'final',
    'login',
  ],
  [
    '535 5.7.139 Authentication unsuccessful, the request did not meet the criteria to be authenticated successfully. Contact your administrator.',
    'auth_rejected',
    'final',
    'login',
  ],
  [
    '530 5.7.57 SMTP; Client was not authenticated to send anonymous mail during MAIL FROM',
    'auth_required',
    'final',
    'login',
  ],
  ['451 5.7.3 STARTTLS is required to send mail', 'tls_required', 'retry'],
  ['451 5.7.3 Must issue a STARTTLS command first', 'tls_required', 'final'],
  ['550 5.7.64 TenantAttribution; Relay Access Denied', 'relay_denied', 'final'],
  ['554 5.4.14 Hop count exceeded - possible mail loop ATTR34', 'mail_loop', 'final'],
  ['452 4.3.1 Insufficient system resources (TotalInboundMessages)', 'temporary', 'retry'],
  [
    '550 5.2.2 STOREDRV.Deliver: mailbox full. MapiExceptionShutoffQuotaExceeded',
    'mailbox_full',
    'final',
  ],
  [
    '550 5.3.4 SMTPSEND.OverAdvertisedSize; message size exceeds fixed maximum size',
    'message_too_large',
    'final',
  ],
  // yahoo, at&t
  [
    "554 delivery error: dd This user doesn't have a yahoo.com account (x@example.com) [0] - mta4202.mail.bf1.example",
    'invalid_recipient',
    'final',
  ],
  [
    '554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.com/error-codes',
    'blocked_policy',
    'final',
  ],
  [
    '451 4.7.1 [GL01] Message from (192.0.2.1) temporarily deferred - 4.16.50. Please refer to the postmaster pages',
    'greylisted',
    'retry',
  ],
  [
    '550 5.7.1 Connections not accepted from servers without a valid sender domain. Fix reverse DNS for 192.0.2.1',
    'blocked_policy',
    'final',
  ],
  [
    '553 5.3.0 flpd575 DNSBL:RBL 521< 192.0.2.1 >_is_blocked.For assistance forward this error to abuse@example.net',
    'blocked_reputation',
    'final',
  ],
  ['535 5.7.0 (#AUTH005) Too many bad auth attempts.', 'auth_throttled', 'retry'],
  // icloud
  [
    '550 5.7.1 [HM08] Message rejected due to local policy. Please visit https://support.apple.com/en-us/HT204137',
    'blocked_policy',
    'final',
  ],
  ['552 5.2.2 <x@example.com>: user is over quota', 'mailbox_full', 'final'],
  [
    "554 5.7.1 Your message was rejected due to example.org's DMARC policy. See https://support.apple.com/en-us/HT204137 for info",
    'blocked_unauthenticated_domain',
    'final',
  ],
  // zoho
  [
    '550 5.4.6 Unusual sending activity detected. Please try after sometime',
    'sender_blocked',
    'final',
  ],
  [
    '535 5.7.8 Authentication failed: application password required',
    'auth_rejected',
    'final',
    'login',
  ],
  ['550 5.1.1 User does not exist - <x@example.com>', 'invalid_recipient', 'final'],
  // ses, sendgrid, mailgun, mailtrap
  [
    '554 Message rejected: Email address is not verified. The following identities failed the check in region EU-WEST-1: x@example.com',
    'sender_not_allowed',
    'final',
  ],
  [
    '550 The from address does not match a verified Sender Identity. Mail cannot be sent until this error is resolved.',
    'sender_not_allowed',
    'final',
  ],
  ['451 Authentication failed: Maximum credits exceeded', 'sender_quota_exhausted', 'final'],
  ['550 Unauthenticated senders not allowed', 'auth_required', 'final', 'login'],
  ['535 Authentication failed: Bad username / password', 'auth_rejected', 'final', 'login'],
  ['535 5.7.0 Mailgun is not loving your login or password', 'auth_rejected', 'final', 'login'],
  [
    '550 5.7.0 Requested action not taken: too many emails per second. Please upgrade your plan',
    'sender_rate_limited',
    'final',
  ],
  [
    '421 Domain sandbox.example.com is not allowed to send: Free accounts are for test purposes only.',
    'sender_not_allowed',
    'retry',
  ],
  // postfix
  ['535 5.7.8 Error: authentication failed: UGFzc3dvcmQ6', 'auth_rejected', 'final', 'login'],
  [
    '535 5.7.8 Error: authentication failed: Connection lost to authentication server',
    'auth_temporary',
    'retry',
  ],
  [
    '454 4.7.0 Temporary authentication failure: Connection lost to authentication server',
    'auth_temporary',
    'retry',
  ],
  [
    '450 4.2.0 <x@example.com>: Recipient address rejected: Greylisted, see http://postgrey.example/help/x.html',
    'greylisted',
    'retry',
  ],
  [
    '553 5.7.1 <x@example.com>: Sender address rejected: not owned by user y@example.com',
    'sender_not_allowed',
    'final',
  ],
  [
    '450 4.7.1 Client host rejected: cannot find your reverse hostname, [192.0.2.1]',
    'blocked_policy',
    'retry',
  ],
  [
    '504 5.5.2 <localhost>: Helo command rejected: need fully-qualified hostname',
    'protocol_error',
    'final',
  ],
  ['552 5.3.4 Error: message file too big', 'message_too_large', 'final'],
  ['452 4.3.1 Insufficient system storage', 'temporary', 'retry'],
  [
    '550 5.1.1 <spam-report@example.com>: Recipient address rejected: User unknown in relay recipient table',
    'invalid_recipient',
    'final',
  ],
  ['454 4.7.0 TLS not available due to local problem', 'tls_unavailable', 'retry'],
  [
    '451 4.7.1 <x@example.com>: Recipient address rejected: Please try again later',
    'greylisted',
    'retry',
  ],
  [
    '550 5.7.23 <x@example.com>: Recipient address rejected: Message rejected due to: SPF fail - not authorized. Please see http://www.openspf.net/Why?s=mfrom',
    'blocked_unauthenticated_domain',
    'final',
  ],
  [
    '554 5.7.1 <x@example.com>: Recipient address rejected: Access denied',
    'blocked_policy',
    'final',
  ],
  ['421 4.7.0 mx.example.com Error: too many errors', 'temporary', 'retry'],
  // exim, cpanel
  ['535 Incorrect authentication data', 'auth_rejected', 'final', 'login'],
  ['550 Unrouteable address', 'invalid_recipient', 'final'],
  [
    '550-Verification failed for <x@example.com>\n550-No Such User Here\n550 Sender verify failed',
    'blocked_policy',
    'final',
  ],
  ['451 Temporary local problem - please try later', 'temporary', 'retry'],
  [
    '550 Domain example.com has exceeded the max emails per hour (151/150 (100%)) allowed. Message discarded.',
    'sender_rate_limited',
    'final',
  ],
  [
    '550-"JunkMail rejected - host.example.com [192.0.2.1]:1234 is in an RBL: https://www.spamhaus.org/query/ip/192.0.2.1"',
    'blocked_reputation',
    'final',
  ],
  ['550 relay not permitted', 'relay_denied', 'final'],
  [
    '550-host.example.com [192.0.2.1]:50000 is not permitted to relay through this server\n550 without authentication.',
    'relay_denied',
    'final',
  ],
  // sendmail, qmail
  [
    '550 5.7.1 <x@example.com>... Relaying denied. Proper authentication required.',
    'relay_denied',
    'final',
  ],
  [
    '451 4.1.8 Domain of sender address x@example.com does not resolve',
    'sender_domain_dns',
    'retry',
  ],
  [
    '550 5.1.2 <x@host.invalid>... Host unknown (Name server: host.invalid.: host not found)',
    'invalid_recipient_domain',
    'final',
  ],
  [
    "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
    'relay_denied',
    'final',
  ],
  ['550 sorry, no mailbox here by that name. (#5.1.1)', 'invalid_recipient', 'final'],
  [
    '552 sorry, that message size exceeds my databytes limit (#5.3.4)',
    'message_too_large',
    'final',
  ],
  ['451 qq temporary problem (#4.3.0)', 'temporary', 'retry'],
  // gateways
  [
    '550 csi.mimecast.org Poor Reputation Sender. - https://community.mimecast.com/docs/DOC-1369#550',
    'blocked_reputation',
    'final',
  ],
  [
    '451 Internal resources are temporarily unavailable - https://community.mimecast.com/docs/DOC-1369#451 [abc]',
    'greylisted',
    'retry',
  ],
  [
    '550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550 [abc]',
    'invalid_recipient',
    'final',
  ],
  [
    '554 5.7.0 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.1',
    'blocked_reputation',
    'final',
  ],
  ['550 5.7.1 Message content rejected, UBE, id=00000-00-000', 'content_rejected', 'final'],
  [
    "554-esa1.example.com\n554 Your access to this mail system has been rejected due to the sending MTA's poor reputation.",
    'blocked_reputation',
    'final',
  ],
  ['421 #4.4.5 Too many connections from your host.', 'sender_concurrency_limited', 'retry'],
  ['550 #5.1.0 Address rejected.', 'invalid_recipient', 'final'],
  ['452 Too many recipients received this hour', 'sender_rate_limited', 'retry'],
  [
    '554 Service unavailable; Client host [192.0.2.1] blocked using Barracuda Reputation; http://www.barracudanetworks.com/reputation/?r=1&ip=192.0.2.1',
    'blocked_reputation',
    'final',
  ],
  ['553 http://www.spamhaus.org/query/bl?ip=192.0.2.222', 'blocked_reputation', 'final'],
  // gmx, web.de, ionos, t-online
  [
    '550-Requested action not taken: mailbox unavailable\n550 For explanation visit https://postmaster.gmx.net/en/error-messages?ip=192.0.2.1&c=eu',
    'invalid_recipient',
    'final',
  ],
  ['535 Authentication credentials invalid', 'auth_rejected', 'final', 'login'],
  [
    '550-Requested action not taken: mailbox unavailable\n550 invalid DNS MX or A/AAAA resource record',
    'sender_domain_dns',
    'final',
  ],
  [
    '554-Transaction failed\n554-Reject due to policy restrictions.\n554 For explanation visit https://postmaster.1und1.de/en/case?c=r0601',
    'blocked_policy',
    'final',
  ],
  [
    '550-Requested action not taken: mailbox unavailable\n550 Sender address is not allowed.',
    'sender_not_allowed',
    'final',
  ],
  [
    '450-Requested mail action not taken: mailbox unavailable\n450 Mail send limit exceeded.',
    'sender_rate_limited',
    'retry',
  ],
  [
    '554 IP=192.0.2.1 - A problem occurred. (Ask your postmaster for help or to contact tosa@example.net to clarify.)',
    'blocked_reputation',
    'final',
  ],
  // mail.ru, yandex
  [
    '535 5.7.0 NEOBHODIM parol prilozheniya https://help.mail.ru/mail/security/protection/external / Application password is REQUIRED',
    'auth_rejected',
    'final',
    'login',
  ],
  [
    '550 spam message rejected. Please visit http://help.mail.ru/notspam-support/id?c=abc or report details',
    'blocked_spam',
    'final',
  ],
  [
    '550 Message was not accepted -- invalid mailbox. Local mailbox x@example.com is unavailable: user not found',
    'invalid_recipient',
    'final',
  ],
  [
    '535 5.7.8 Error: authentication failed: Invalid user or password!',
    'auth_rejected',
    'final',
    'login',
  ],
  ['553 5.7.1 Sender address rejected: not owned by auth user.', 'sender_not_allowed', 'final'],
  [
    '554 5.7.1 Message rejected under suspicion of SPAM; https://ya.cc/1IrBc 1700000000-abc',
    'blocked_spam',
    'final',
  ],
  // orange, free, ovh
  [
    '421 mwinf5c04 ME Trop de connexions, veuillez verifier votre configuration. Too many connections, slow down. OFR004_104 [104]',
    'sender_concurrency_limited',
    'retry',
  ],
  [
    '550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR204_416 [416]',
    'invalid_recipient',
    'final',
  ],
  [
    '552 5.1.1 Boite du destinataire pleine. Recipient overquota. OFR204_417 [417]',
    'mailbox_full',
    'final',
  ],
  ['550 spam detected', 'blocked_spam', 'final'],
  [
    '535 5.7.8 Error: authentication failed: authentication failure',
    'auth_rejected',
    'final',
    'login',
  ],
  // comcast, spectrum
  ['550 5.1.1 Not our Customer', 'invalid_recipient', 'final'],
  [
    '421 4.1.0 192.0.2.1 Throttled - try again later. Please see http://postmaster.comcast.net/smtp-error-codes.php#RL000001',
    'sender_rate_limited',
    'retry',
  ],
  [
    '550 5.1.0 <x@example.com> sender rejected. Please see https://www.spectrum.net/support/internet/understanding-email-error-codes for more information. AUP#I-1310',
    'blocked_policy',
    'final',
  ],
  // fastmail, rackspace
  [
    '535 5.7.8 Sorry, you need to create an app password to use this service',
    'auth_rejected',
    'final',
    'login',
  ],
  ['551 5.7.1 Not authorised to send from this header address', 'sender_not_allowed', 'final'],
  [
    '554 5.7.1 ACL dns_rbl; Client host [192.0.2.1] blocked using zen.spamhaus.org',
    'blocked_reputation',
    'final',
  ],
  // qq, 163
  [
    '535 Login Fail. Please enter your authorization code to login. More information in http://service.mail.qq.com/cgi-bin/help?subtype=1&&id=28&&no=1001256',
    'auth_rejected',
    'final',
    'login',
  ],
  ['501 mail from address must be same as authorization user', 'sender_not_allowed', 'final'],
  [
    '550 Mailbox not found. http://service.mail.qq.com/cgi-bin/help?subtype=1&&id=20022&&no=1000728',
    'invalid_recipient',
    'final',
  ],
  [
    '550 Connection frequency limited. http://service.mail.qq.com/cgi-bin/help?subtype=1&&id=20022&&no=1000722',
    'blocked_rate',
    'final',
  ],
  ['553 Mail from must equal authorized user', 'sender_not_allowed', 'final'],
  [
    '554 DT:SPM 163 smtp10,DsCowAA3PzyBQ2Zb 1533428610,please see http://mail.163.com/help/help_spam_16.htm',
    'blocked_spam',
    'final',
  ],
  // of no provider in particular
  ['452 4.2.2 <x@example.com> mailbox over quota', 'mailbox_full', 'retry'],
  ['450 4.2.1 Mailbox temporarily unavailable', 'temporary', 'retry'],
  ['556 5.1.10 Recipient address has null MX', 'invalid_recipient_domain', 'final'],
  ['554 5.6.0 Message contains bare LF', 'content_rejected', 'final'],
  ['552 5.7.0 This attachment type is not allowed', 'content_rejected', 'final'],
  ['525 5.7.13 User account disabled', 'auth_rejected', 'final', 'login'],
  [
    '538 5.7.11 Encryption required for requested authentication mechanism',
    'tls_required',
    'final',
  ],
  ['432 4.7.12 A password transition is needed', 'auth_temporary', 'retry'],
  ['550 5.6.7 Address requires SMTPUTF8', 'smtputf8_unsupported', 'final'],
  ['552 5.2.2 Mailbox size limit exceeded', 'mailbox_full', 'final'],
  ['550 5.7.1 Message rejected as spam by Content Filtering.', 'blocked_spam', 'final'],
  ['554 5.5.0 Sorry, the oracle is silent', 'unknown', 'final'],
  ['450 4.9.9 Sorry, the oracle is silent', 'temporary', 'retry'],
]
