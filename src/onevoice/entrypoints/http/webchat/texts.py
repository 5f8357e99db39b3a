"""The page's words, in Portuguese and English."""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

Language = Literal["pt", "en"]
__all__ = ["TEXTS", "Language", "choose_language"]

_PT = {
    "greeting": "Olá! Como podemos ajudar?",
    "conversation": "Conversa",
    "message": "Mensagem",
    "placeholder": "Escreva uma mensagem…",
    "send": "Enviar",
    "name": "Seu nome (opcional)",
    "earlier": "Mostrar mensagens anteriores",
    "latest_one": "1 mensagem nova",
    "latest_many": "{count} mensagens novas",
    "to_end": "Ir para o fim",
    "open": "Abrir o chat",
    "close": "Fechar o chat",
    "connecting": "Conectando…",
    "online": "Online",
    "away": "Sem conexão",
    "human": "Você fala com a nossa equipe",
    "offline": "Sem conexão. Suas mensagens serão enviadas assim que ela voltar.",
    "trying": "Ainda não conseguimos enviar. Tentando de novo…",
    "slow_down": "Muitas mensagens em pouco tempo. Enviamos o resto em instantes.",
    "cookies": "O navegador bloqueou o cookie desta conversa. Abra o chat em uma nova aba:",
    "new_tab": "abrir em uma nova aba",
    "not_stored": "O navegador não deixou guardar esta mensagem; mantenha a página aberta até o envio.",
    "typing": "Digitando…",
    "you": "Você",
    "ai": "Assistente",
    "operator": "Equipe",
    "device": "Equipe",
    "system": "Aviso",
    "waiting": "Enviando",
    "failed": "Não enviada",
    "received": "Recebida",
    "seen": "Lida",
    "retry": "Tentar de novo",
    "discard": "Descartar",
    "today": "Hoje",
    "yesterday": "Ontem",
    "image": "Imagem",
    "audio": "Áudio",
    "video": "Vídeo",
    "document": "Documento",
    "no_script": "Este chat precisa de JavaScript.",
}

_EN = {
    "greeting": "Hello! How can we help?",
    "conversation": "Conversation",
    "message": "Message",
    "placeholder": "Write a message…",
    "send": "Send",
    "name": "Your name (optional)",
    "earlier": "Show earlier messages",
    "latest_one": "1 new message",
    "latest_many": "{count} new messages",
    "to_end": "Jump to the end",
    "open": "Open the chat",
    "close": "Close the chat",
    "connecting": "Connecting…",
    "online": "Online",
    "away": "Offline",
    "human": "You are talking with our team",
    "offline": "You are offline. Your messages will be sent once you are back.",
    "trying": "Not sent yet. Trying again…",
    "slow_down": "Many messages in a short time. The rest follows in a moment.",
    "cookies": "Your browser blocked this conversation's cookie. Open the chat in a new tab:",
    "new_tab": "open in a new tab",
    "not_stored": "Your browser could not keep this message; leave the page open until it is sent.",
    "typing": "Typing…",
    "you": "You",
    "ai": "Assistant",
    "operator": "Team",
    "device": "Team",
    "system": "Notice",
    "waiting": "Sending",
    "failed": "Not sent",
    "received": "Received",
    "seen": "Read",
    "retry": "Try again",
    "discard": "Discard",
    "today": "Today",
    "yesterday": "Yesterday",
    "image": "Image",
    "audio": "Audio",
    "video": "Video",
    "document": "Document",
    "no_script": "This chat needs JavaScript.",
}

TEXTS: MappingProxyType[Language, dict[str, str]] = MappingProxyType({"pt": _PT, "en": _EN})


def choose_language(setting: str, accept_language: str) -> Language:
    """The channel's language, or with "auto" the one the browser likes best; else English."""
    if setting == "pt":
        return "pt"
    if setting == "en":
        return "en"
    best: Language = "en"
    best_weight = 0.0
    for entry in accept_language.lower().split(","):
        tag, _, weight_text = entry.strip().partition(";q=")
        language: Language | None = "pt" if tag.startswith("pt") else "en" if tag.startswith("en") else None
        weight = _weight(weight_text)
        if language and weight > best_weight:
            best, best_weight = language, weight
    return best


def _weight(text: str) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0
