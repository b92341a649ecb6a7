/** Words of the operator's screens. */
import { defineWords } from '../words/define-words.ts'

export const words = defineWords(
  {
    tenants: 'Tenants',
    tenantsLead: 'Who sends through this service. Each has mail, mailers and webhooks of its own.',
    name: 'Name',
    id: 'Id',
    created: 'Created',
    noTenants: 'There is no tenant yet',
    noTenantsHelp: 'A tenant is a company, a product or a stage that sends mail apart from others.',
  },
  {
    tenants: 'Mandanten',
    tenantsLead: 'Wer über diesen Dienst sendet. Jeder hat eigene Mails, Mailer und Webhooks.',
    name: 'Name',
    id: 'Kennung',
    created: 'Angelegt',
    noTenants: 'Es gibt noch keinen Mandanten',
    noTenantsHelp:
      'Ein Mandant ist eine Firma, ein Produkt oder eine Umgebung, die für sich sendet.',
  },
)
