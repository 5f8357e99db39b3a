"""The console's words, in Portuguese and English. What a code is called stands in ``words``."""

from __future__ import annotations

from types import MappingProxyType

from onevoice.entrypoints.http.webchat.texts import Language
from onevoice.errors import MessageUnsendable

__all__ = ["TEXTS"]

_PAIRS: dict[str, tuple[str, str]] = {
    # Signing in
    "sign_in": ("Entrar", "Sign in"),
    "sign_in_title": ("Entrar no console", "Sign in to the console"),
    "sign_out": ("Sair", "Sign out"),
    "name": ("Nome", "Name"),
    "password": ("Senha", "Password"),
    "account": ("Conta", "Account"),
    "other_account": ("Outra conta", "Another account"),
    "signed_out": ("Você saiu.", "You have signed out."),
    "expired": (
        "Sua sessão terminou. Entre de novo para continuar de onde parou.",
        "Your session has ended. Sign in again to go on where you were.",
    ),
    # The desk
    "console": ("Console", "Console"),
    "skip": ("Ir para a conversa", "Skip to the conversation"),
    "conversations": ("Conversas", "Conversations"),
    "tab_mine": ("Minhas", "Mine"),
    "tab_waiting": ("Esperando", "Waiting"),
    "tab_ai": ("IA", "AI"),
    "tab_suspended": ("Suspensas", "Suspended"),
    "tab_all": ("Todas", "All"),
    "search": ("Buscar contato", "Search a contact"),
    "search_hint": ("Nome, telefone ou id", "Name, phone or id"),
    "search_clear": ("Limpar a busca", "Clear the search"),
    "more": ("Mais conversas", "More conversations"),
    "first_page": ("Voltar ao início", "Back to the start"),
    "empty_mine": ("Você não tem conversas agora.", "You hold no conversation now."),
    "empty_waiting": ("Ninguém está esperando.", "Nobody is waiting."),
    "empty_ai": ("Nenhuma conversa com a IA.", "No conversation with the AI."),
    "empty_suspended": ("Nenhuma conversa suspensa.", "No conversation is suspended."),
    "empty_all": ("Ainda não há conversas.", "There is no conversation yet."),
    "empty_search": ("Nenhum contato encontrado.", "No contact found."),
    "choose": ("Escolha uma conversa", "Choose a conversation"),
    "choose_hint": (
        "Quem espera há mais tempo aparece primeiro em Esperando.",
        "Who has waited longest comes first under Waiting.",
    ),
    "unanswered_one": ("1 sem resposta", "1 unanswered"),
    "unanswered_many": ("{count} sem resposta", "{count} unanswered"),
    "waits_since": ("espera há {time}", "waiting for {time}"),
    "parked_reply": ("resposta parada", "reply parked"),
    "you": ("você", "you"),
    "you_said": ("Equipe: ", "Team: "),
    "ai_said": ("IA: ", "AI: "),
    "sound_on": ("Ligar o som", "Turn sound on"),
    "sound_off": ("Desligar o som", "Turn sound off"),
    "language": ("Idioma", "Language"),
    "live": ("Ao vivo", "Live"),
    "offline": ("Sem conexão. Tentando de novo…", "Offline. Trying again…"),
    "new_message": ("Nova mensagem de {name}: {text}", "New message from {name}: {text}"),
    "new_below": ("Mensagens novas", "New messages"),
    "back": ("Conversas", "Conversations"),
    "today": ("Hoje", "Today"),
    "yesterday": ("Ontem", "Yesterday"),
    "now": ("agora", "now"),
    # Who may speak
    "AI_ACTIVE": ("A IA responde", "The AI answers"),
    "HANDOFF_PENDING": ("Esperando uma pessoa", "Waiting for a person"),
    "HUMAN_ACTIVE": ("Com {owner}", "With {owner}"),
    "yours": ("Você responde", "You answer"),
    "device_holds": ("Respondida pelo celular da empresa", "Answered from the business's phone"),
    "AI_SUSPENDED": ("IA suspensa", "AI suspended"),
    "pending_mine": ("Tomada em andamento", "Takeover under way"),
    "pending_other": ("{owner} está assumindo", "{owner} is taking over"),
    "in_flight_one": (
        "Esperando 1 envio ou ação da IA que já começou. Você já pode escrever: sai depois da confirmação.",
        "Waiting for 1 send or action of the AI in flight. You may write already: it leaves after the confirmation.",
    ),
    "in_flight_many": (
        "Esperando {count} envios ou ações da IA que já começaram. Você já pode escrever: sai depois da confirmação.",
        "Waiting for {count} sends or actions of the AI in flight. You may write already: it leaves after the "
        "confirmation.",
    ),
    "in_flight_other": ("Esperando o que a IA já começou.", "Waiting for what the AI has in flight."),
    "uncertain_one": ("1 mensagem de resultado desconhecido", "1 message of unknown outcome"),
    "uncertain_many": ("{count} mensagens de resultado desconhecido", "{count} messages of unknown outcome"),
    "since": ("desde {time}", "since {time}"),
    "returns_at": ("Volta à IA às {time} se ficar parada.", "Goes back to the AI at {time} if left quiet."),
    "held_by_hand": (
        "Fica com a equipe até alguém devolver.",
        "Stays with the team until somebody releases it.",
    ),
    "paused_channel": (
        "Canal pausado: {reason}. A equipe ainda pode escrever.",
        "Channel paused: {reason}. The team may still write.",
    ),
    "take": ("Assumir", "Take over"),
    "take_hold": ("Sem retorno automático", "No automatic return"),
    "release": ("Devolver à IA", "Release to the AI"),
    "resume": ("Retomar a IA", "Resume the AI"),
    "suspend": ("Suspender a IA", "Suspend the AI"),
    "suspend_note": ("Por quê? (opcional)", "Why? (optional)"),
    "transfer": ("Transferir", "Transfer"),
    "transfer_to": ("Para quem", "To whom"),
    "force": ("Forçar…", "Force…"),
    "force_now": ("Assumir já…", "Take it now…"),
    "more_actions": ("Mais ações", "More actions"),
    "ask_owner": ("Peça a {owner} para devolver ou transferir.", "Ask {owner} to release or transfer it."),
    # Forcing
    "force_title": ("Assumir à força", "Take by force"),
    "force_other": (
        "{owner} tem esta conversa. Se você a tomar, as mensagens de {owner} que ainda não saíram são retiradas, e "
        "fica registrado que foi à força.",
        "{owner} holds this conversation. If you take it, what {owner} wrote and has not left yet is revoked, and "
        "that it was forced is kept on record.",
    ),
    "force_pending": (
        "Ainda há {count} envio ou ação da IA sem resultado. Se você não esperar, o cliente ainda pode receber essa "
        "mensagem depois da sua.",
        "{count} send or action of the AI has no outcome yet. If you do not wait, the customer may still receive it "
        "after your own message.",
    ),
    "force_nothing": (
        "Não há nada a forçar: use Assumir.",
        "There is nothing to force: use Take over.",
    ),
    "force_confirm": ("Sim, assumir à força", "Yes, take it by force"),
    "cancel": ("Cancelar", "Cancel"),
    # Writing
    "reply": ("Responder", "Reply"),
    "reply_label": ("Mensagem para {name}", "Message to {name}"),
    "reply_placeholder": ("Escreva uma mensagem…", "Write a message…"),
    "send": ("Enviar", "Send"),
    "send_hint": ("Enter envia, Shift+Enter quebra a linha", "Enter sends, Shift+Enter breaks the line"),
    "note": ("Nota interna", "Internal note"),
    "note_label": ("Nota interna, só para a equipe", "Internal note, for the team only"),
    "note_placeholder": ("Só a equipe vê…", "Only the team sees this…"),
    "note_save": ("Guardar nota", "Keep note"),
    "blocked_ai": ("A IA responde aqui. Assuma para escrever.", "The AI answers here. Take over to write."),
    "blocked_waiting": (
        "Ninguém tem esta conversa. Assuma para escrever.",
        "Nobody holds this. Take over to write.",
    ),
    "blocked_owner": ("Só {owner} pode responder.", "Only {owner} may reply."),
    "blocked_device": (
        "O celular da empresa está respondendo. Assuma para escrever daqui.",
        "The business's phone is answering. Take over to write from here.",
    ),
    "blocked_suspended": (
        "A IA está suspensa e ninguém tem a conversa. Assuma para escrever.",
        "The AI is suspended and nobody holds this. Take over to write.",
    ),
    "window_closed": (
        "A janela de resposta do canal fechou: só um modelo sai; outra mensagem espera o cliente escrever.",
        "The channel's reply window is closed: only a template leaves; anything else waits for the customer.",
    ),
    "window_until": ("Janela de resposta até {time}", "Reply window until {time}"),
    "editing": ("Editando a sugestão da IA", "Editing the AI's suggestion"),
    # Suggestion and pins
    "suggestion": ("Sugestão da IA", "The AI suggests"),
    "suggestion_edit": ("Editar", "Edit"),
    "suggestion_discard": ("Descartar", "Discard"),
    "pins": ("O cliente ainda não sabe", "The customer has not been told"),
    "pin_done": ("Feito, e o cliente não foi avisado", "Done, and the customer has not been told"),
    "pin_started": ("Começou; resultado desconhecido", "Began; its outcome is not known"),
    "pin_awaiting": ("A IA quer fazer isto. Aprovar?", "The AI wants to do this. Approve?"),
    "approve": ("Aprovar", "Approve"),
    "refuse": ("Recusar", "Refuse"),
    "scheduled": ("Agendada para {time}, por {name}", "Scheduled for {time}, by {name}"),
    "system_name": ("sistema", "system"),
    # Thread
    "thread": ("Mensagens", "Messages"),
    "earlier": ("Mensagens anteriores", "Earlier messages"),
    "latest": ("Ir para o fim", "Jump to the latest"),
    "customer": ("Cliente", "Customer"),
    "ai": ("IA", "AI"),
    "operator": ("Equipe", "Team"),
    "device": ("Celular da empresa", "Business's phone"),
    "system": ("Sistema", "System"),
    "open": ("sem resposta", "unanswered"),
    "claimed": ("a IA está lendo", "the AI is reading it"),
    "cancelled_inbound": ("encerrada sem resposta", "closed without an answer"),
    "withdrawn_inbound": ("apagada pelo cliente", "withdrawn by the customer"),
    "transcribed": ("Transcrição", "Transcription"),
    "message_release": ("Liberar", "Release"),
    "message_discard": ("Descartar", "Discard"),
    "message_mine": ("Enviar como minha", "Send as mine"),
    "part_of": ("parte {part} de {count}", "part {part} of {count}"),
    "attempts": ("{count} tentativas", "{count} attempts"),
    "sealed_turn": ("A IA respondeu", "The AI answered"),
    "confidence": ("confiança {percent}%", "confidence {percent}%"),
    "wrote": ("usou uma ferramenta", "used a tool"),
    "triage_release_first": (
        "Triagem: enviar a resposta e depois tratar a nova mensagem",
        "Triage: send the answer, then handle the new message",
    ),
    "triage_cancel_first": (
        "Triagem: a nova mensagem desfez o pedido; resposta cancelada",
        "Triage: the new message took the request back; answer cancelled",
    ),
    "triage_merge": ("Triagem: responder tudo junto", "Triage: answer all together"),
    "triage_undecided": ("Triagem sem decisão, tenta de novo", "Triage undecided, trying again"),
    "triage_void": ("Triagem refeita", "Triage asked again"),
    "by_decider": ("decidido por {decider}", "decided by {decider}"),
    "to_ai": ("De volta à IA", "Back to the AI"),
    "to_waiting": ("Uma pessoa foi chamada", "A person was asked for"),
    "to_pending": ("{owner} começou a assumir", "{owner} began to take over"),
    "to_human": ("{owner} assumiu", "{owner} took over"),
    "to_device": ("A empresa respondeu pelo celular", "The business answered from its phone"),
    "to_suspended": ("IA suspensa", "AI suspended"),
    "effect_awaiting": ("espera aprovação", "waits for approval"),
    "effect_started": ("em andamento", "under way"),
    "effect_done": ("feito", "done"),
    "effect_failed": ("falhou", "failed"),
    "effect_refused": ("recusado", "refused"),
    "effect_told": ("cliente avisado", "customer told"),
    "effect_untold": ("cliente não avisado", "customer not told"),
    # Contact
    "contact": ("Contato", "Contact"),
    "address": ("Endereço", "Address"),
    "channel": ("Canal", "Channel"),
    "aliases": ("Também conhecido como", "Also known as"),
    "first_contact": ("Primeiro contato", "First contact"),
    "message_count": ("Mensagens", "Messages"),
    "handoff": ("Passagem", "Handoff"),
    "handoff_none": ("Nenhuma nota.", "No note."),
    "state": ("Situação", "State"),
    "version": ("Versão", "Version"),
    # Answers to what was asked
    "held_by_other": (
        "{holder} já tem esta conversa. Nada foi mudado.",
        "{holder} holds this conversation already. Nothing was changed.",
    ),
    "not_owner": (
        "Só quem tem a conversa pode fazer isto: {holder}. Nada foi enviado.",
        "Only its holder may do this: {holder}. Nothing was sent.",
    ),
    "nobody": ("ninguém", "nobody"),
    "role_too_small": (
        "Só um administrador pode tomar uma conversa de {holder}.",
        "Only an admin may take a conversation from {holder}.",
    ),
    "invalid_transition": (
        "A situação mudou e não permite mais isto. Veja como está agora.",
        "The state has changed and does not allow this any more. Look at it as it is now.",
    ),
    "blank": ("Não há texto. Nada foi enviado.", "There is no text. Nothing was sent."),
    "key_reused": (
        "Este rascunho já foi enviado com outro texto. Envie de novo como nova mensagem.",
        "This draft was already sent with another text. Send it again as a new message.",
    ),
    "seen_unknown": ("Recarregue a conversa e envie de novo.", "Reload the conversation and send again."),
    "suggestion_unknown": ("A sugestão não vale mais.", "The suggestion does not hold any more."),
    "too_many_waiting": (
        "Há mensagens demais na fila desta conversa. Espere elas saírem.",
        "Too many messages wait in this conversation. Let them leave first.",
    ),
    "operator_unknown": ("Esse operador não existe mais.", "There is no such operator any more."),
    "channel_removed": (
        "O canal desta conversa não está mais configurado. Nada foi enviado.",
        "This conversation's channel is not configured any more. Nothing was sent.",
    ),
    "newer_message": (
        "O cliente escreveu de novo. A IA pede outra vez se ainda quiser isto.",
        "The customer has written again. The AI will ask anew if it still wants this.",
    ),
    "authority_revoked": (
        "A conversa mudou de mãos; a ação não pode mais ser aprovada.",
        "The conversation changed hands; the action cannot be approved any more.",
    ),
    "turn_over": (
        "O turno que pediu isto terminou. A IA pede outra vez se ainda quiser.",
        "The turn that asked for this has ended. The AI will ask anew if it still wants this.",
    ),
    "effect_unknown": ("Essa ação não existe.", "There is no such action."),
    "outbound_unknown": ("Essa mensagem não existe.", "There is no such message."),
    "conversation_unknown": ("Essa conversa não existe.", "There is no such conversation."),
    "refused": ("Não foi possível. Nada foi mudado.", "It could not be done. Nothing was changed."),
    "sign_in_refused": (
        "Nome ou senha incorretos, ou acesso desativado.",
        "The name or the password is wrong, or the access was disabled.",
    ),
    "sign_in_limited": (
        "Muitas tentativas. Tente de novo em {seconds} s.",
        "Too many attempts. Try again in {seconds} s.",
    ),
    "origin_refused": (
        "O pedido não veio desta página. Atrás de um proxy, configure server.public_url.",
        "The request does not come from this page. Behind a proxy, set server.public_url.",
    ),
    "form_out_of_date": (
        "Esta página é de outra sessão. Recarregue e tente de novo.",
        "This page belongs to another session. Reload it and try again.",
    ),
    "form_unreadable": ("O formulário não pôde ser lido.", "The form could not be read."),
    "too_long": ("O texto é longo demais.", "The text is too long."),
    "not_found": ("Não há nada neste endereço.", "There is nothing at this address."),
    "too_many_streams": ("Há janelas demais abertas.", "Too many windows are open."),
    "unavailable": (
        "O banco de dados não respondeu a tempo. Nada foi mudado; tente de novo.",
        "The database did not answer in time. Nothing was changed; try again.",
    ),
    "trouble": ("Algo não deu certo", "Something went wrong"),
    # Files and templates
    "attach": ("Anexar arquivo", "Attach a file"),
    "attached": ("Arquivo anexado", "Attached file"),
    "detach": ("Tirar o arquivo", "Take the file away"),
    "file": ("arquivo", "file"),
    "file_unknown": ("Esse arquivo não existe.", "There is no such file."),
    "file_unavailable": (
        "O armazenamento de arquivos não respondeu. Tente de novo.",
        "The store of files did not answer. Try again.",
    ),
    "file_not_kept": (
        "O arquivo não foi anexado. Tente de novo.",
        "The file was not attached. Try again.",
    ),
    "choices": ("Opções", "Choices"),
    "template": ("Enviar um modelo aprovado", "Send an approved template"),
    "template_name": ("Nome do modelo", "Template's name"),
    "template_language": ("Idioma", "Language"),
    "template_values": ("Valores do texto, um por linha", "Values of its text, one a line"),
    "template_send": ("Enviar modelo", "Send template"),
    "unsendable": ("O canal não aceita. Nada foi enviado: {fault}.", "The channel cannot carry it: {fault}."),
    "unsendable_file_too_large": (
        "O arquivo é grande demais para este canal. Nada foi enviado.",
        "The file is too large for this channel. Nothing was sent.",
    ),
    "unsendable_file_empty": ("O arquivo está vazio.", "The file is empty."),
    "unsendable_not_supported": (
        "Este canal não tem isto. Nada foi enviado.",
        "This channel has no such thing. Nothing was sent.",
    ),
    "unsendable_media_unknown": (
        "O arquivo não existe mais. Anexe de novo.",
        "There is no such file any more. Attach it again.",
    ),
    "not_sent": (
        "Não saiu: sem conexão com o servidor. Seu texto está guardado; envie de novo.",
        "Not sent: no connection to the server. Your text is kept; send it again.",
    ),
    "to_console": ("Ir para o console", "Go to the console"),
}

TEXTS: MappingProxyType[Language, MappingProxyType[str, str]] = MappingProxyType({
    "pt": MappingProxyType({name: pair[0] for name, pair in _PAIRS.items()}),
    "en": MappingProxyType({name: pair[1] for name, pair in _PAIRS.items()}),
})  # fmt: skip


def unsendable_text(language: Language, error: MessageUnsendable) -> str:
    """Why the channel cannot carry a message, in the operator's language where it is a common reason."""
    texts = TEXTS[language]
    return texts.get(f"unsendable_{error.code}", texts["unsendable"]).format(fault=error)
